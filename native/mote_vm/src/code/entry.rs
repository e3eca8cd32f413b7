//! The entry point of a behaviour's code, and its answers.
use crate::values::actor::Actor;
use crate::values::value::Value;
use std::ffi::c_void;

/// A compiled behaviour: runs a turn of the actor, which has begun, on the message. The first argument is the turn, whose
/// type is of a later layer.
pub(crate) type EntryPoint = extern "C" fn(*mut c_void, *const Actor, Value) -> u32;

/// Answer of an [`EntryPoint`]: the turn ended normally.
pub const DONE: u32 = 0;
/// The message matched no clause.
pub const IGNORED: u32 = 1;
/// It stopped in the middle: the turn says why.
pub const STOPPED: u32 = 2;
/// There is no native code: the interpreter is to run the turn, which has just begun.
pub(crate) const ABSENT: u32 = 3;

/// The actor is a socket: the thread does what it is asked for (threads/net/).
pub(crate) const SOCKET: u32 = 4;

/// Stands in for native code until there is some.
pub(crate) extern "C" fn absent(_: *mut c_void, _: *const Actor, _: Value) -> u32 {
    ABSENT
}
