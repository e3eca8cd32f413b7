//! A term with an environment of its own, so that it lives as long as Rust wants it to.
use rustler::sys::{enif_alloc_env, enif_free_env, enif_make_copy, ErlNifEnv, ErlNifTerm};
use rustler::{Env, Term};

/// See the head of this file.
pub struct OwnTerm {
    env: *mut ErlNifEnv,
    term: ErlNifTerm,
}

// SAFETY: after `make` nobody writes to the environment any more; it is freed once, by whichever thread is last,
// which enif_free_env allows.
unsafe impl Send for OwnTerm {}
// SAFETY: reading and copying terms from several threads is allowed while nobody writes to their environment.
unsafe impl Sync for OwnTerm {}

impl OwnTerm {
    /// A copy of `term`.
    pub fn copy(term: Term<'_>) -> OwnTerm {
        OwnTerm::make(|env| Some(term.in_env(env))).unwrap_or_else(|| unreachable!())
    }

    /// A term built in its own environment.
    pub fn make(build: impl for<'a> FnOnce(Env<'a>) -> Option<Term<'a>>) -> Option<OwnTerm> {
        // SAFETY: allocating an environment has no conditions; `lifetime` gives the borrow a lifetime of its own.
        let (env, term) = unsafe {
            let env = enif_alloc_env();
            let lifetime = ();
            (
                env,
                build(Env::new(&lifetime, env)).map(|term| term.as_c_arg()),
            )
        };
        match term {
            Some(term) => Some(OwnTerm { env, term }),
            None => {
                // SAFETY: the environment is ours and nothing of it has left.
                unsafe { enif_free_env(env) };
                None
            }
        }
    }

    /// A copy in `env`.
    pub fn to<'a>(&self, env: Env<'a>) -> Term<'a> {
        // SAFETY: the term is alive as long as `self`; the copy belongs to `env`.
        unsafe { Term::new(env, enif_make_copy(env.as_c_arg(), self.term)) }
    }

    /// The word itself, good only for comparing while `self` is alive.
    pub fn raw(&self) -> ErlNifTerm {
        self.term
    }

    /// The environment, for calls that want one and write nothing to it.
    pub fn env(&self) -> *mut ErlNifEnv {
        self.env
    }
}

impl Drop for OwnTerm {
    fn drop(&mut self) {
        // SAFETY: allocated by `make`, freed only here.
        unsafe { enif_free_env(self.env) };
    }
}
