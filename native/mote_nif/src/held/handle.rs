//! The keys of addresses and timers: what Elixir holds of an actor, which keeps it alive.
use crate::held::aside::aside;
use crate::held::machine::MachineResource;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::base::ids::TimerId;
use mote_vm::values::handles::Key;
use rustler::{Binary, Env, Term};

/// Bytes of an address's key. OTP 27 and later may copy binaries of up to 64 bytes into process heaps, and a copy
/// does not hold the resource that keeps the actor alive; so keys are longer than their content.
pub const KEY_BYTES: usize = 72;

/// A reference to an actor, held by the key binaries that are made of it.
pub struct Handle {
    machine: ResourceArc<MachineResource>,
    content: [u8; KEY_BYTES],
}

impl Handle {
    /// Takes over a key that the caller acquired.
    pub fn new(machine: ResourceArc<MachineResource>, key: Key) -> Handle {
        let mut content = [0; KEY_BYTES];
        content[..4].copy_from_slice(&key.slot.to_le_bytes());
        content[4..20].copy_from_slice(&key.serial.to_le_bytes());
        Handle { machine, content }
    }

    /// The key binary, which holds on to the actor.
    pub fn key<'a>(self, env: Env<'a>) -> Term<'a> {
        Handle::key_of(&ResourceArc::new(self), env)
    }

    /// Returns the key binary of a handle that is also kept elsewhere.
    pub fn key_of<'a>(handle: &ResourceArc<Handle>, env: Env<'a>) -> Term<'a> {
        handle.binary(env, |handle| &handle.content)
    }
}

impl Resource for Handle {}

resource_type!(Handle);

impl Drop for Handle {
    fn drop(&mut self) {
        let ended = self
            .machine
            .any()
            .map(|machine| machine.release_later(key_in(&self.content)));
        if ended == Some(true) {
            let machine = self.machine.clone();
            aside(move || {
                if let Some(machine) = machine.any() {
                    machine.settle();
                }
            });
        }
    }
}

/// The key in a key binary, which anybody can have made: only the machine knows whether it is one of its own.
pub fn parse_key(key: Term<'_>) -> Option<Key> {
    let binary = Binary::from_term(key).ok()?;
    binary.as_slice().try_into().ok().map(key_in)
}

fn key_in(content: &[u8; KEY_BYTES]) -> Key {
    let [a, b, c, d, serial @ ..] = content;
    let serial = serial.first_chunk().copied().unwrap_or_default();
    Key {
        slot: u32::from_le_bytes([*a, *b, *c, *d]),
        serial: u128::from_le_bytes(serial),
    }
}

/// Bytes of a timer's key.
const TIMER_BYTES: usize = 14;

/// Returns the content of a timer's key.
pub fn timer_key(timer: TimerId) -> [u8; TIMER_BYTES] {
    let mut key = [0; TIMER_BYTES];
    key[..8].copy_from_slice(&timer.serial.to_le_bytes());
    key[8..10].copy_from_slice(&timer.thread.to_le_bytes());
    key[10..].copy_from_slice(&timer.place.to_le_bytes());
    key
}

/// The timer of a key, if it is one.
pub fn parse_timer(key: Term<'_>) -> Option<TimerId> {
    let binary = Binary::from_term(key).ok()?;
    let bytes: &[u8; TIMER_BYTES] = binary.as_slice().try_into().ok()?;
    let (serial, rest) = bytes.split_first_chunk()?;
    let (thread, place) = rest.split_first_chunk()?;
    Some(TimerId {
        serial: u64::from_le_bytes(*serial),
        thread: u16::from_le_bytes(*thread),
        place: u32::from_le_bytes(*place.first_chunk()?),
    })
}
