//! Functions that are called often, as the BEAM calls them.
//!
//! Rustler's own wrapper puts the arguments into an allocation, and passes on results that may be more than a term: that takes
//! 20 ns, a tenth of what it takes to send a message.
use rustler::sys::{enif_make_badarg, enif_raise_exception, ErlNifEnv, ErlNifTerm};
use rustler::types::atom::nif_panicked;
use rustler::{Env, NifResult, Term};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs a function as Rustler does: an argument that cannot be read raises `ArgumentError`. A panic does not reach the BEAM, but
/// raises `:nif_panicked`.
///
/// # Safety
///
/// The BEAM calls a function of `N` arguments with that environment and these arguments.
pub unsafe fn run<const N: usize>(
    env: *mut ErlNifEnv,
    arguments: *const ErlNifTerm,
    function: impl for<'a> FnOnce(Env<'a>, [Term<'a>; N]) -> NifResult<Term<'a>>,
) -> ErlNifTerm {
    let lifetime = ();
    // SAFETY: the environment is the caller's until the function has returned; `lifetime` ends before that.
    let env = unsafe { Env::new(&lifetime, env) };
    // SAFETY: there are `N`.
    let arguments: [ErlNifTerm; N] = unsafe { arguments.cast::<[ErlNifTerm; N]>().read() };
    // SAFETY: they belong to that environment.
    let arguments = arguments.map(|term| unsafe { Term::new(env, term) });
    match catch_unwind(AssertUnwindSafe(|| function(env, arguments))) {
        Ok(Ok(term)) => term.as_c_arg(),
        // SAFETY: the environment is that of the call, which raises what this makes.
        Ok(Err(_)) => unsafe { enif_make_badarg(env.as_c_arg()) },
        // SAFETY: as above.
        Err(_) => unsafe { enif_raise_exception(env.as_c_arg(), nif_panicked().as_c_arg()) },
    }
}

/// A function for normal schedulers, under the name that it has in Elixir.
macro_rules! plain_nif {
    ($(#[$about:meta])* $function:ident as $text:tt ($($arg:ident: $of:ty),*) |$env:ident| $body:expr) => {
        $(#[$about])*
        fn $function<'a>(
            $env: Env<'a>,
            [$($arg),*]: [Term<'a>; [$(stringify!($arg)),*].len()],
        ) -> rustler::NifResult<Term<'a>> {
            $(let $arg: $of = $arg.decode()?;)*
            Ok($body)
        }

        const _: () = {
            unsafe extern "C" fn called(
                env: *mut rustler::sys::ErlNifEnv,
                _count: rustler::codegen_runtime::c_int,
                arguments: *const rustler::sys::ErlNifTerm,
            ) -> rustler::sys::ErlNifTerm {
                // SAFETY: registered below with as many arguments as the function takes.
                unsafe { crate::term::plain_nif::run(env, arguments, $function) }
            }

            rustler::codegen_runtime::inventory::submit!(rustler::Nif {
                name: concat!($text, "\0").as_ptr().cast(),
                arity: [$(stringify!($arg)),*].len() as rustler::codegen_runtime::c_uint,
                flags: rustler::SchedulerFlags::Normal as rustler::codegen_runtime::c_uint,
                raw_func: called,
            });
        };
    };
}
