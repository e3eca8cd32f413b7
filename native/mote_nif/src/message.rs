//! Messages to processes.
//!
//! A message is built in an environment of the thread's own: small ones are copied out of it, which is the cheapest way;
//! big ones leave with the whole environment, so that they are not copied at all.
//!
//! The BEAM keeps the messages of one sender to one process in order, and the sender is whose environment `enif_send` is
//! given: a process, or nobody. Threads that are not the BEAM's are nobody and give null. Threads of the BEAM must not, so
//! they give an environment that belongs to no process, like the one that a destructor is called with; nothing is ever
//! written to it.
//!
//! Invariants:
//! 1. What actors send is sent by nobody, whichever thread runs the turn or sends what was left: so one actor's messages to
//!    one process have one sender, and arrive in order.
//! 2. Only on a normal scheduler does a process send as itself, where it lives until it has returned. A dirty one may go on
//!    with a process that was killed meanwhile, and the BEAM throws away what that one sends: there nobody sends.
use crate::decode::Decoder;
use rustler::sys::{
    enif_alloc_env, enif_clear_env, enif_free_env, enif_send, enif_thread_type, ErlNifEnv,
    ErlNifTerm,
};
use rustler::{Env, LocalPid, Term};
use std::cell::RefCell;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Messages between two times that the environment is cleared.
const CLEAR_EVERY: u32 = 64;
/// From this size on, a message leaves with its environment.
const BIG: usize = 256;

/// What `enif_thread_type` says of threads that are not the BEAM's, and of normal schedulers.
const FOREIGN_THREAD: i32 = 0;
const NORMAL_SCHEDULER: i32 = 1;

/// An environment that belongs to no process.
struct Nobody(*mut ErlNifEnv);

// SAFETY: nothing is written to it, and it is never freed.
unsafe impl Send for Nobody {}
// SAFETY: as above.
unsafe impl Sync for Nobody {}

/// Who sends what actors send, on this thread: invariant 1.
fn nobody() -> *mut ErlNifEnv {
    static NOBODY: OnceLock<Nobody> = OnceLock::new();
    match thread_type() {
        FOREIGN_THREAD => null_mut(),
        // SAFETY: allocating an environment has no conditions.
        _ => NOBODY.get_or_init(|| Nobody(unsafe { enif_alloc_env() })).0,
    }
}

fn thread_type() -> i32 {
    // SAFETY: may be asked on any thread.
    unsafe { enif_thread_type() }
}

/// Sends a term of the environment that a NIF or a destructor was called with: as its process, if there is one and it is
/// certain to live. Whether the receiver is there.
pub fn send_in<'a>(env: Env<'a>, pid: &LocalPid, message: Term<'a>) -> bool {
    let sender = match thread_type() {
        NORMAL_SCHEDULER => env.as_c_arg(),
        _ => nobody(),
    };
    // SAFETY: the message is copied, and the sender is as the head of this file says.
    unsafe { enif_send(sender, pid.as_c_arg(), null_mut(), message.as_c_arg()) != 0 }
}

/// Sends a term that an actor has sent: a copy of it, or all of `carrier`, whose it is then. Whether the receiver is there.
///
/// # Safety
///
/// The term is alive, and nobody else writes to the carrier, if one is given.
pub unsafe fn send_as_nobody(
    pid: &LocalPid,
    carrier: Option<*mut ErlNifEnv>,
    message: ErlNifTerm,
) -> bool {
    let carrier = carrier.unwrap_or(null_mut());
    // SAFETY: as the caller says; the sender is as the head of this file says.
    unsafe { enif_send(nobody(), pid.as_c_arg(), carrier, message) != 0 }
}

struct Outbox {
    env: *mut ErlNifEnv,
    /// Who sends on this thread.
    sender: *mut ErlNifEnv,
    used: u32,
    decoder: Decoder,
}

thread_local! {
    static OUTBOX: RefCell<Option<Outbox>> = const { RefCell::new(None) };
}

/// Sends what `build` makes, on any thread, as nobody. Whether the receiver is there.
pub fn post(pid: &LocalPid, build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>) -> bool {
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
            sender: nobody(),
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
        // SAFETY: the sender is as the head of this file says; the message belongs to our environment, which is cleared
        // below if it left.
        let sent = unsafe { enif_send(self.sender, pid.as_c_arg(), carrier, message) != 0 };
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
