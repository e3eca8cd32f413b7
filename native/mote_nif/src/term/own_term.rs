//! Terms that live as long as Rust wants them to, in environments that belong to no process.
//!
//! An environment costs some kilobytes, whatever is in it. So small terms share one: a [`Nursery`] copies a number of
//! them into the same environment, which is freed with the last of them.
//!
//! Invariants:
//! 1. Only one thread at a time writes to an environment: before it is shared, or under its nursery's lock.
//! 2. A term never moves or changes, so it can be read while others are written beside it.
use crate::term::send::send_as_nobody;
use parking_lot::Mutex;
use rustler::sys::{enif_alloc_env, enif_free_env, enif_make_copy, ErlNifEnv, ErlNifTerm};
use rustler::{Env, LocalPid, Term};
use std::sync::Arc;

/// Bytes of an environment with little in it.
pub const ENVIRONMENT: usize = 5 << 9;

/// Bytes of a term of a [`Nursery`], with its share of the environment.
pub const NURSED: usize = 128;

struct OwnEnv(*mut ErlNifEnv);

// SAFETY: freed once, by whichever thread is last, which enif_free_env allows; written as invariant 1 says.
unsafe impl Send for OwnEnv {}

// SAFETY: as above.
unsafe impl Sync for OwnEnv {}

impl OwnEnv {
    fn new() -> OwnEnv {
        // SAFETY: allocating an environment has no conditions.
        OwnEnv(unsafe { enif_alloc_env() })
    }
}

impl Drop for OwnEnv {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed only here.
        unsafe { enif_free_env(self.0) };
    }
}

/// A term of an environment that lives as long as any of its terms. A clone is the same term.
#[derive(Clone)]
pub struct OwnTerm {
    env: Arc<OwnEnv>,
    term: ErlNifTerm,
}

impl OwnTerm {
    /// A copy of `term`, by itself.
    pub fn copy(term: Term<'_>) -> OwnTerm {
        OwnTerm::copy_to(Arc::new(OwnEnv::new()), term)
    }

    /// The caller alone writes to `env`.
    fn copy_to(env: Arc<OwnEnv>, term: Term<'_>) -> OwnTerm {
        // SAFETY: invariant 1.
        let term = unsafe { enif_make_copy(env.0, term.as_c_arg()) };
        OwnTerm { env, term }
    }

    /// A term that is always built, in its own environment.
    pub fn make_always(build: impl for<'a> FnOnce(Env<'a>) -> Term<'a>) -> OwnTerm {
        let env = OwnEnv::new();
        let lifetime = ();
        // SAFETY: nobody else has the environment; `lifetime` gives this borrow of it a lifetime of its own.
        let term = build(unsafe { Env::new(&lifetime, env.0) }).as_c_arg();
        let env = Arc::new(env);
        OwnTerm { env, term }
    }

    /// A term built in its own environment.
    pub fn make(build: impl for<'a> FnOnce(Env<'a>) -> Option<Term<'a>>) -> Option<OwnTerm> {
        let env = OwnEnv::new();
        let lifetime = ();
        // SAFETY: nobody else has the environment; `lifetime` gives this borrow of it a lifetime of its own.
        let term = build(unsafe { Env::new(&lifetime, env.0) })?.as_c_arg();
        let env = Arc::new(env);
        Some(OwnTerm { env, term })
    }

    /// A term of an environment that this takes over.
    ///
    /// # Safety
    ///
    /// Nobody else has the environment, and the term belongs to it.
    pub unsafe fn in_env(env: *mut ErlNifEnv, term: ErlNifTerm) -> OwnTerm {
        let env = Arc::new(OwnEnv(env));
        OwnTerm { env, term }
    }

    /// Builds a term in an environment that neighbours share, as in a [`Nursery`]. `build` also says whether others may join it. They may
    /// not if the term is large or holds on to something. Such a term goes with those that are there already.
    pub fn make_in(
        nursery: &Nursery,
        build: impl for<'a> FnOnce(Env<'a>) -> Option<(Term<'a>, bool)>,
    ) -> Option<OwnTerm> {
        nursery.add(|env| {
            let lifetime = ();
            // SAFETY: nobody else writes to the environment meanwhile; `lifetime` gives this borrow of it a lifetime of its own.
            let built = build(unsafe { Env::new(&lifetime, env.0) });
            match built.map(|(term, open)| (term.as_c_arg(), open)) {
                Some((term, open)) => (Some(OwnTerm { env, term }), open),
                None => (None, false),
            }
        })
    }

    /// A copy in `env`.
    pub fn to<'a>(&self, env: Env<'a>) -> Term<'a> {
        // SAFETY: the term is alive as long as `self`; the copy belongs to `env`.
        unsafe { Term::new(env, enif_make_copy(env.as_c_arg(), self.term)) }
    }

    /// Extends the term to what `build` makes of it, in its own environment if nobody else is there.
    pub fn extend(&mut self, build: impl for<'a> FnOnce(Env<'a>, Term<'a>) -> Term<'a>) {
        if Arc::get_mut(&mut self.env).is_none() {
            *self = self.with(OwnTerm::copy);
        }
        let lifetime = ();
        // SAFETY: nobody else has the environment; `lifetime` gives this borrow of it a lifetime of its own.
        let env = unsafe { Env::new(&lifetime, self.env.0) };
        // SAFETY: the term belongs to that environment.
        self.term = build(env, unsafe { Term::new(env, self.term) }).as_c_arg();
    }

    /// Sends it, with its environment if nobody else is there. Returns whether the process is there.
    pub fn send(self, pid: &LocalPid) -> bool {
        // Kept until it has been sent, either way.
        let own = Arc::try_unwrap(self.env);
        let carrier = own.as_ref().ok().map(|alone| alone.0);
        // SAFETY: the message belongs to the carrier, which is cleared by this and freed afterwards, or it is copied.
        unsafe { send_as_nobody(pid, carrier, self.term) }
    }

    /// Lets `look` read it where it is.
    pub fn with<R>(&self, look: impl for<'a> FnOnce(Term<'a>) -> R) -> R {
        let lifetime = ();
        // SAFETY: the environment lives as long as `self`, and reading writes nothing to it (invariant 2); `lifetime`
        // gives this borrow of it a lifetime of its own.
        look(unsafe { Term::new(Env::new(&lifetime, self.env.0), self.term) })
    }

    /// Returns whether both are the same term in the same place.
    pub fn is(&self, other: &OwnTerm) -> bool {
        self.term == other.term && Arc::ptr_eq(&self.env, &other.env)
    }

    /// The word itself, good only while `self` is alive.
    pub fn raw(&self) -> ErlNifTerm {
        self.term
    }

    /// The environment, for calls that want one and write nothing to it.
    pub fn env(&self) -> *mut ErlNifEnv {
        self.env.0
    }
}

impl AsRef<OwnTerm> for OwnTerm {
    fn as_ref(&self) -> &OwnTerm {
        self
    }
}

/// Environments that small terms share. A term that holds on to something else (functions, long binaries, addresses) does not belong
/// here: it would live as long as its neighbours.
pub struct Nursery {
    sharers: usize,
    /// The environment that is filled at present, and how many terms it has.
    place: Mutex<Option<(Arc<OwnEnv>, usize)>>,
}

impl Nursery {
    /// Makes a nursery where that many terms share an environment.
    pub fn new(sharers: usize) -> Nursery {
        Nursery {
            sharers,
            place: Mutex::new(None),
        }
    }

    /// A copy of a small term.
    pub fn copy(&self, term: Term<'_>) -> OwnTerm {
        self.add(|env| (OwnTerm::copy_to(env, term), true))
    }

    /// Lets `write` write to the environment being filled. Its result also says whether others may follow.
    fn add<R>(&self, write: impl FnOnce(Arc<OwnEnv>) -> (R, bool)) -> R {
        let mut place = self.place.lock();
        let (env, count) = place.take().unwrap_or_else(|| (Arc::new(OwnEnv::new()), 0));
        let (written, open) = write(env.clone());
        if open && count + 1 < self.sharers {
            *place = Some((env, count + 1));
        }
        written
    }
}
