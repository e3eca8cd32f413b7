//! Messages to processes.
//!
//! A thread of the BEAM sends from the environment that it was called with, any other thread from an environment of
//! its own: small messages are copied out of it, which is the cheapest way; big ones leave with the whole
//! environment, so that they are not copied at all. A thread of the BEAM that runs turns (`posting`) does as the others
//! do, and says which environment it was called with.
use crate::decode::Decoder;
use rustler::sys::{enif_alloc_env, enif_clear_env, enif_free_env, enif_send, ErlNifEnv};
use rustler::thread::is_scheduler_thread;
use rustler::{Env, LocalPid, Term};
use std::cell::{Cell, RefCell};
use std::ptr::null_mut;

/// Messages between two times that the environment is cleared.
const CLEAR_EVERY: u32 = 64;
/// From this size on, a message leaves with its environment.
const BIG: usize = 256;

/// Sends a term of the environment that a NIF or a destructor was called with. Whether the process is there.
pub fn send_in<'a>(env: Env<'a>, pid: &LocalPid, message: Term<'a>) -> bool {
    let caller = match is_scheduler_thread() {
        true => env.as_c_arg(),
        // A destructor on a thread of ours.
        false => null_mut(),
    };
    // SAFETY: the message belongs to `env` and is copied; the caller's environment is given on threads of the BEAM
    // and only there, as enif_send asks.
    unsafe { enif_send(caller, pid.as_c_arg(), null_mut(), message.as_c_arg()) != 0 }
}

struct Outbox {
    env: *mut ErlNifEnv,
    used: u32,
    decoder: Decoder,
}

thread_local! {
    static OUTBOX: RefCell<Option<Outbox>> = const { RefCell::new(None) };
    /// The environment that a thread of the BEAM was called with that runs turns.
    static CALLER: Cell<*mut ErlNifEnv> = const { Cell::new(null_mut()) };
}

/// Lets what `act` does on this thread of the BEAM send by `post`. `env` is that of the running NIF.
pub fn posting<R>(env: Env<'_>, act: impl FnOnce() -> R) -> R {
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            CALLER.set(null_mut());
        }
    }
    CALLER.set(env.as_c_arg());
    let _over = Over;
    act()
}

/// Sends what `build` makes. Only on threads that are not the BEAM's, or within `posting`. Whether the process is there.
pub fn post(pid: &LocalPid, build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>) -> bool {
    debug_assert_eq!(is_scheduler_thread(), !CALLER.get().is_null());
    OUTBOX.with(|outbox| {
        // Taken out, so that whatever runs meanwhile may send as well.
        let taken = outbox.borrow_mut().take();
        let mut out = taken.unwrap_or_else(Outbox::new);
        let sent = out.send(pid, build);
        *outbox.borrow_mut() = Some(out);
        sent
    })
}

impl Outbox {
    fn new() -> Outbox {
        Outbox {
            // SAFETY: allocating an environment has no conditions.
            env: unsafe { enif_alloc_env() },
            used: 0,
            decoder: Decoder::default(),
        }
    }

    fn send(
        &mut self,
        pid: &LocalPid,
        build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
    ) -> bool {
        self.decoder.start();
        let lifetime = ();
        // SAFETY: the environment is ours alone, and `lifetime` gives this borrow of it a lifetime of its own.
        let env = unsafe { Env::new(&lifetime, self.env) };
        let message = build(env, &mut self.decoder).as_c_arg();
        let leaves = self.decoder.nodes() > BIG;
        let carrier = if leaves { self.env } else { null_mut() };
        // SAFETY: the caller's environment is that of the running NIF on a thread of the BEAM, and null on any other;
        // the message belongs to our environment, which is cleared below if it left.
        let sent = unsafe { enif_send(CALLER.get(), pid.as_c_arg(), carrier, message) != 0 };
        self.used += 1;
        // What holds on to something must not linger here: it may be the last reference to it.
        if leaves || self.decoder.holds() || self.used >= CLEAR_EVERY {
            self.used = 0;
            // SAFETY: no term of it is used any more.
            unsafe { enif_clear_env(self.env) };
        }
        sent
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed only here.
        unsafe { enif_free_env(self.env) };
    }
}
