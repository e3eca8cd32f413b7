//! Sending terms to processes, from any thread.
//!
//! The BEAM keeps the messages of one sender to one process in order, and the sender is whose environment `enif_send` is
//! given: a process, or nobody. Threads that are not the BEAM's count as nobody and pass null. Threads of the BEAM must not, so
//! they give an environment that belongs to no process, like the one that a destructor is called with; nothing is ever written to
//! it.
//!
//! Invariants:
//! 1. Messages of actors are sent by nobody, whichever thread runs the turn or sends what was left. So one actor's
//!    messages to one process have one sender, and arrive in order.
//! 2. Only on a normal scheduler does a process send as itself, where it lives until it has returned. A dirty scheduler
//!    may go on with a process that was killed meanwhile, and the BEAM discards messages of such a process. So on a dirty
//!    scheduler messages are sent by nobody, too.
use rustler::sys::{enif_alloc_env, enif_send, enif_thread_type, ErlNifEnv, ErlNifTerm};
use rustler::{Env, LocalPid, Term};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Result of `enif_thread_type` for a thread that is not the BEAM's; the next one is for normal schedulers.
const FOREIGN_THREAD: i32 = 0;

const NORMAL_SCHEDULER: i32 = 1;

/// An environment that belongs to no process.
struct Nobody(*mut ErlNifEnv);

// SAFETY: nothing is written to it, and it is never freed.
unsafe impl Send for Nobody {}

// SAFETY: as above.
unsafe impl Sync for Nobody {}

/// The sender of what actors send, on this thread: invariant 1.
pub fn nobody() -> *mut ErlNifEnv {
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

/// Sends a term of the environment that a NIF or a destructor was called with: as its process, if there is one and it is certain to live.
/// Returns whether the receiver is there.
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
