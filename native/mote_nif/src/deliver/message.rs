//! Messages to processes.
//!
//! A message is built in an environment of the thread's own: small ones are copied out of it, which is the cheapest way;
//! big ones leave with the whole environment, so that they are not copied at all.
use crate::codec::decode::Decoder;
use crate::term::assembly::Assembled;
use crate::term::own_term::OwnTerm;
use crate::term::send::nobody;
use rustler::sys::{enif_alloc_env, enif_clear_env, enif_free_env, enif_send, ErlNifEnv};
use rustler::{Env, LocalPid, Term};
use std::cell::RefCell;
use std::ptr::null_mut;

/// Messages sent before the environment is cleared.
const CLEAR_EVERY: u32 = 64;

/// Terms from which a message leaves with its environment.
const BIG: usize = 256;

struct Scratch {
    env: *mut ErlNifEnv,
    /// The environment that messages are sent from on this thread.
    sender: *mut ErlNifEnv,
    used: u32,
    decoder: Decoder,
}

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// Sends the message that `build` makes, on any thread, as nobody. Returns whether the receiver is there.
pub fn post(pid: &LocalPid, build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>) -> bool {
    match try_post(std::slice::from_ref(pid), build) {
        Ok(there) => there == 1,
        // Nothing is left unfinished unless that is allowed.
        Err(message) => message.send(pid),
    }
}

/// Sends the message that `build` makes to each of these processes, as [`post`] does. Returns how many are there. If `build` leaves a
/// term unfinished, returns that instead.
pub fn try_post(
    pids: &[LocalPid],
    build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
) -> Result<usize, Assembled> {
    SCRATCH.with(|scratch| {
        // Taken out, so that whatever runs meanwhile may send as well.
        let taken = scratch.borrow_mut().take();
        let mut out = taken.unwrap_or_else(Scratch::new);
        let sent = out.send(pids, build);
        *scratch.borrow_mut() = Some(out);
        sent
    })
}

impl Scratch {
    fn new() -> Scratch {
        Scratch {
            // SAFETY: allocating an environment has no conditions.
            env: unsafe { enif_alloc_env() },
            sender: nobody(),
            used: 0,
            decoder: Decoder::default(),
        }
    }

    fn send(
        &mut self,
        pids: &[LocalPid],
        build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
    ) -> Result<usize, Assembled> {
        self.decoder.start();
        let lifetime = ();
        // SAFETY: the environment is ours alone, and `lifetime` gives this borrow of it a lifetime of its own.
        let env = unsafe { Env::new(&lifetime, self.env) };
        let message = build(env, &mut self.decoder).as_c_arg();
        if let Some(unfinished) = self.decoder.unfinished() {
            // SAFETY: allocating an environment has no conditions.
            let env = std::mem::replace(&mut self.env, unsafe { enif_alloc_env() });
            self.used = 0;
            // SAFETY: the environment was ours alone, and the message belongs to it.
            let term = unsafe { OwnTerm::in_env(env, message) };
            return Err(Assembled::new(term, Some(unfinished)));
        }
        let leaves = self.decoder.nodes() > BIG && pids.len() == 1;
        let carrier = if leaves { self.env } else { null_mut() };
        // SAFETY: the sender is as the head of this file says; the message belongs to our environment, which is cleared
        // below if it left.
        let sent = |pid: &&LocalPid| unsafe {
            enif_send(self.sender, pid.as_c_arg(), carrier, message) != 0
        };
        let there = pids.iter().filter(sent).count();
        self.used += 1;
        // What holds on to something must not linger here: it may be the last reference to it.
        if leaves || self.decoder.holds() || self.used >= CLEAR_EVERY {
            self.used = 0;
            // SAFETY: no term of it is used any more.
            unsafe { enif_clear_env(self.env) };
        }
        Ok(there)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed only here.
        unsafe { enif_free_env(self.env) };
    }
}
