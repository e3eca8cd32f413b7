//! Machines with an identity, and the references that earlier lives of them were known by.
//!
//! An address refers to its machine by a reference, which only the life that has made it knows. A machine that goes on
//! from an image of its own is noted here with the references of its earlier lives, so that [`present`] finds it by any
//! of these. The key in the address proves the rest, as always. So a reference only says where to look, and may be known
//! to everybody.
//!
//! Invariants:
//! 1. At most one running machine of this node has a given identity.
//! 2. A machine is here from its claim until it was joined, and stays pinned as long (bridge.rs): so nothing here outlives it.
//! 3. No life belongs to two running machines with an identity: an image that names a life of another machine is refused.
//!    Its other claims are believed.
//! 4. Nothing is dropped under the lock, since it may be the last reference to a machine.
//! 5. A replay has the identity of the machine that was recorded, and does not claim it. So addresses of that one do not lead to it, but for
//!    what its journal brings in (`as_life_of`).
use crate::held::machine::MachineResource;
use crate::term::resource::{self, ResourceArc};
use mote_vm::image::tables::{ImageIdentity, MOST_LIVES};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use rustler::{Encoder, Env, LocalPid, Term};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::LazyLock;

#[derive(Default)]
struct Lives {
    /// Running machines, by identity.
    claimed: FxHashMap<String, ResourceArc<MachineResource>>,
    /// Running machines, by the names of their earlier lives.
    earlier: FxHashMap<Vec<u8>, ResourceArc<MachineResource>>,
}

static LIVES: LazyLock<Mutex<Lives>> = LazyLock::new(Mutex::default);

/// Number of references that are known: who meets none of them pays for one look at this.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The machine whose earlier lives are meant by what the calling thread reads.
    static REPLAYED: RefCell<Option<ResourceArc<MachineResource>>> = const { RefCell::new(None) };
}

/// Reads something in which the lives of a machine mean that machine, whoever else has gone on from them.
pub fn as_life_of<R>(machine: &ResourceArc<MachineResource>, read: impl FnOnce() -> R) -> R {
    let before = REPLAYED.replace(Some(machine.clone()));
    let done = read();
    drop(REPLAYED.replace(before));
    done
}

/// Gives a machine that is to be a replay the identity of the one that was recorded (invariant 5).
pub fn replay(env: Env<'_>, machine: &ResourceArc<MachineResource>, name: &str) {
    let life = life(machine.encode(env)).unwrap_or_default();
    *machine.identity.lock() = Some(ImageIdentity {
        name: name.to_string(),
        lives: vec![life.clone()],
    });
    leads_to(life, machine);
}

/// Lets addresses of a machine that was joined lead to another one, which is at another place of the same recording.
pub fn succeed(before: Term<'_>, machine: &ResourceArc<MachineResource>) {
    if let Some(life) = life(before) {
        leads_to(life, machine);
    }
}

fn leads_to(life: Vec<u8>, machine: &ResourceArc<MachineResource>) {
    let mut lives = LIVES.lock();
    let before = lives.earlier.insert(life, machine.clone());
    KNOWN.store(lives.earlier.len(), Relaxed);
    drop(lives);
    drop(before);
}

/// Gives a machine an identity, from its first life on. If one that runs has it already, returns the process that answers for that one.
pub fn claim(
    env: Env<'_>,
    machine: &ResourceArc<MachineResource>,
    name: &str,
) -> Result<(), LocalPid> {
    let life = life(machine.encode(env)).unwrap_or_default();
    let mut lives = LIVES.lock();
    if let Some(other) = lives.claimed.get(name) {
        if is_running(env, other) {
            return Err(other.owner);
        }
    }
    let before = lives.claimed.insert(name.to_string(), machine.clone());
    drop(lives);
    drop(before);
    *machine.identity.lock() = Some(ImageIdentity {
        name: name.to_string(),
        lives: vec![life],
    });
    Ok(())
}

/// Gives a machine the lives that an image of itself names. Of too many, the oldest are forgotten. If one of them is of another machine
/// that runs, returns the identity of that one.
pub fn take_up(
    env: Env<'_>,
    machine: &ResourceArc<MachineResource>,
    earlier: &[Vec<u8>],
) -> Result<(), String> {
    let from = earlier.len().saturating_sub(MOST_LIVES - 1);
    let earlier = &earlier[from..];
    let met: FxHashSet<&Vec<u8>> = earlier.iter().collect();
    let lives = LIVES.lock();
    let claimed = lives.claimed.iter();
    for (name, other) in claimed.filter(|_| has_claimed(&lives, machine)) {
        let identity = other.identity.lock();
        let mut theirs = identity.iter().flat_map(|of| &of.lives);
        if is_running(env, other) && theirs.any(|life| met.contains(life)) {
            return Err(name.clone());
        }
    }
    // Under the lock of all, so that of two machines which take up the same, the second one sees it.
    if let Some(identity) = machine.identity.lock().as_mut() {
        identity.lives.splice(..0, earlier.iter().cloned());
    }
    Ok(())
}

/// Notes that a machine has gone on from what it has taken up.
pub fn went_on(machine: &ResourceArc<MachineResource>) {
    let all = machine.identity.lock().clone().map(|of| of.lives);
    let all = all.unwrap_or_default();
    let earlier = all
        .split_last()
        .map_or(&[][..], |(_today, earlier)| earlier);
    let mut before = Vec::with_capacity(earlier.len());
    let mut lives = LIVES.lock();
    if !has_claimed(&lives, machine) {
        return;
    }
    for life in earlier {
        before.extend(lives.earlier.insert(life.clone(), machine.clone()));
    }
    KNOWN.store(lives.earlier.len(), Relaxed);
    drop(lives);
    drop(before);
}

/// Returns whether the identity of a machine is its own (invariant 5).
fn has_claimed(lives: &Lives, machine: &ResourceArc<MachineResource>) -> bool {
    let mut claimed = lives.claimed.values();
    claimed.any(|other| other.identity() == machine.identity())
}

/// Returns whether a machine runs. That of a process which was killed in this moment may not know yet that it does not.
fn is_running(env: Env<'_>, machine: &MachineResource) -> bool {
    machine.running().is_some() && machine.owner.is_alive(env)
}

/// Forgets a machine that was joined.
pub fn ended(machine: &ResourceArc<MachineResource>) {
    let is_own = |other: &mut ResourceArc<MachineResource>| other.identity() == machine.identity();
    let mut lives = LIVES.lock();
    let Lives { claimed, earlier } = &mut *lives;
    let claimed: Vec<_> = claimed.extract_if(|_, other| is_own(other)).collect();
    let lived: Vec<_> = earlier.extract_if(|_, other| is_own(other)).collect();
    KNOWN.store(earlier.len(), Relaxed);
    drop(lives);
    drop((claimed, lived));
}

/// The machine that an address leads to: the one that it refers to, or the present life of that one.
#[inline]
pub fn present(machine: Term<'_>) -> Term<'_> {
    // Relaxed: whoever has to find a machine here has heard that it was started.
    match KNOWN.load(Relaxed) {
        0 => machine,
        _ => today(machine).map_or(machine, |today| today.encode(machine.get_env())),
    }
}

/// The same as a reference of its own, where nothing may be written beside the term.
#[inline]
pub fn present_machine(machine: Term<'_>) -> Option<ResourceArc<MachineResource>> {
    let later = match KNOWN.load(Relaxed) {
        0 => None,
        _ => today(machine),
    };
    later.or_else(|| machine.decode().ok())
}

#[cold]
fn today(machine: Term<'_>) -> Option<ResourceArc<MachineResource>> {
    if let Some(replayed) = REPLAYED.with_borrow(Option::clone) {
        let life = life(machine)?;
        let is_known = |of: &ImageIdentity| of.lives.contains(&life);
        if replayed.identity.lock().as_ref().is_some_and(is_known) {
            return Some(replayed);
        }
    }
    let known: Option<&MachineResource> = resource::get(machine);
    if known.is_some_and(|known| known.running().is_some()) {
        return None;
    }
    let life = life(machine)?;
    LIVES.lock().earlier.get(&life).cloned()
}

/// Returns the words that identify a reference, whatever its node is called at the moment: the last of its external format.
fn life(reference: Term<'_>) -> Option<Vec<u8>> {
    const WORD: usize = 4;
    if !reference.is_ref() {
        return None;
    }
    let written = reference.to_binary();
    let [_version, _tag, high, low, ..] = written[..] else {
        return None;
    };
    let bytes = WORD * usize::from(u16::from_be_bytes([high, low]));
    let words = written.len().checked_sub(bytes)?;
    Some(written[words..].to_vec())
}
