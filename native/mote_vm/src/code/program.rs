//! The program of a machine: everything loaded, by name and by number.
//!
//! Invariants:
//! 1. Slots, code and constants are never moved and live until the program is dropped: code refers to them by
//!    pointer, actors by number.
//! 2. A behaviour number is published in the table (release) before any slot hands it out, so a thread that read it from a slot
//!    (acquire), or from an actor that such a thread made, finds its code.
//! 3. A new version of a behaviour takes over the numbers of those before it: actors run it from their next turn on, whether they
//!    become or not. They have as many captures, stash if they did, and run where they ran; otherwise they stay what they are
//!    (succession.rs).
mod install;
mod succession;

use super::entry::{absent, EntryPoint, IGNORED, SOCKET};
use super::functions::KnownFunction;
use super::memory::CodeMemory;
use super::op::{Code, Op};
use super::slots::{BehaviourSlot, FunctionSlot};
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::heap::block::BlockPool;
use crate::heap::Heap;
use crate::platform::pages;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::value::Value;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;
pub(crate) use succession::written_name;
use succession::Successions;
pub use succession::{StayingBehaviour, TakeOver, WhyStaying};

/// A name that code refers to: module, name, arity or captures.
pub(crate) type FullName = (Atom, Atom, u32);

/// A version of a behaviour that a machine has; good for creating actors there and nowhere else.
#[derive(Clone)]
pub struct BehaviourVersion {
    pub(crate) id: BehaviourId,
    pub(crate) program: Arc<Program>,
}

/// One installed version of a behaviour.
pub(crate) struct BehaviourCode {
    pub(crate) code: Code,
    pub(crate) captures: u16,
    /// It never becomes (verify.rs): its turns need no owner.
    pub(crate) safe: bool,
    /// Its turns run outside of the machine and nowhere else (threads/away.rs).
    pub(crate) away_only: bool,
    /// It keeps messages in its last capture.
    pub(crate) stashes: bool,
    /// An older version of its module was loaded before: actors have become this one with what that one had made of their captures.
    pub(crate) is_newer: bool,
    /// The hash of its unit.
    pub(crate) hash: u64,
    pub(crate) module: Atom,
    /// Its name in its unit, and as it is written.
    pub(crate) name: Atom,
    pub(crate) written: Atom,
}

impl BehaviourCode {
    /// Returns the number of captures that are written in the source, without the stash.
    pub(crate) fn written_captures(&self) -> usize {
        self.captures as usize - usize::from(self.stashes)
    }
}

/// The data of a behaviour, found by its number.
struct BehaviourRow {
    /// Its native code, or [`absent`] while the interpreter runs it. In the table itself: a turn needs no more.
    entry: AtomicPtr<u8>,
    code: AtomicPtr<BehaviourCode>,
}

/// Everything that one machine has loaded.
pub(crate) struct Program {
    table: NonNull<BehaviourRow>,
    inner: Mutex<Registry>,
}

// SAFETY: the table is atomics, the rest is behind the mutex.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

struct Registry {
    functions: FxHashMap<FullName, Box<FunctionSlot>>,
    behaviours: FxHashMap<FullName, Box<BehaviourSlot>>,
    modules: FxHashMap<Atom, u64>,
    behaviour_code: Vec<NonNull<BehaviourCode>>,
    successions: Successions,
    function_code: Vec<NonNull<Code>>,
    /// Functions as values, and the numbers of their captures: by name and by the hash of the unit.
    values: FxHashMap<(FullName, u64), (Value, usize)>,
    /// Slots that only one version of a unit refers to.
    #[allow(clippy::vec_box)] // They must not move (invariant 1).
    own_functions: Vec<Box<FunctionSlot>>,
    constants: Vec<Box<[Value]>>,
    heap: Heap,
    code_memory: Vec<CodeMemory>,
    units: Vec<LoadedUnit>,
}

/// A unit that was loaded.
#[derive(Clone)]
pub struct LoadedUnit {
    /// Its module.
    pub module: Atom,
    /// Its hash.
    pub hash: u64,
    /// The unit as it was given.
    pub bytes: Arc<[u8]>,
}

const TABLE_BYTES: usize = BehaviourId::LIMIT * size_of::<BehaviourRow>();
const TABLE_ALIGN: usize = align_of::<BehaviourRow>();

impl Program {
    /// An empty program; `None` when the system has no memory for its table.
    pub(crate) fn new() -> Option<Program> {
        let table = NonNull::new(pages::map(TABLE_BYTES, TABLE_ALIGN)?)?.cast();
        let program = Program {
            table,
            inner: Mutex::new(Registry {
                functions: FxHashMap::default(),
                behaviours: FxHashMap::default(),
                modules: FxHashMap::default(),
                behaviour_code: Vec::new(),
                successions: Successions::default(),
                function_code: Vec::new(),
                values: FxHashMap::default(),
                own_functions: Vec::new(),
                constants: Vec::new(),
                heap: Heap::new(Arc::new(BlockPool::default())),
                code_memory: Vec::new(),
                units: Vec::new(),
            }),
        };
        // In this order: these are their numbers (values/actor.rs).
        program.publish_ignoring("sink", true, 0);
        program.publish_ignoring("shared", true, 1);
        // A dialer never changes, and works for each thread on that.
        for (name, safe) in [("socket", false), ("listener", false), ("dialer", true)] {
            let id = program.publish_ignoring(name, safe, 1);
            program.set_entry(id, socket);
        }
        Some(program)
    }

    /// A behaviour that ignores every message.
    fn publish_ignoring(&self, name: &str, safe: bool, captures: u16) -> BehaviourId {
        let code = BehaviourCode {
            code: Code {
                ops: Box::new([Op::Ignore]),
                arguments: Box::new([]),
                constants: std::ptr::null(),
                registers: 1,
                sites: Box::new([]),
            },
            captures,
            safe,
            away_only: false,
            stashes: false,
            is_newer: false,
            hash: 0,
            module: Atom::NIL,
            name: Atom::new(name),
            written: Atom::new(name),
        };
        let id = self.publish(&mut self.inner.lock(), code);
        self.set_entry(id, ignore);
        id
    }

    /// Publishes a behaviour of which nobody knows that it never becomes another.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn publish_unsafe(&self) -> BehaviourId {
        self.publish_capturing(0)
    }

    /// Publishes such a behaviour with captures.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn publish_capturing(&self, captures: u16) -> BehaviourId {
        self.publish_ignoring("unsafe", false, captures)
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn publish_safe(&self, captures: u16) -> BehaviourId {
        self.publish_ignoring("safe", true, captures)
    }

    #[inline(always)]
    fn row(&self, id: BehaviourId) -> &BehaviourRow {
        // SAFETY: ids are handed out by `publish` only, so the row is within the table and was written (invariants 1
        // and 2).
        unsafe { &*self.table.as_ptr().add(id.0 as usize) }
    }

    /// Returns the function that runs a turn of a behaviour.
    #[inline(always)]
    pub(crate) fn entry(&self, id: BehaviourId) -> EntryPoint {
        if cfg!(any(miri, loom)) {
            // Neither knows native code.
            return absent;
        }
        // Acquire: pairs with the release in `set_entry`.
        let entry = self.row(id).entry.load(Ordering::Acquire);
        // SAFETY: `set_entry` stores nothing but functions of this type, of ours or in code memory that lives as long as
        // the program.
        unsafe { std::mem::transmute::<*mut u8, EntryPoint>(entry) }
    }

    fn set_entry(&self, id: BehaviourId, entry: EntryPoint) {
        // Release: whoever finds native code sees it complete.
        let entry = entry as *mut u8;
        self.row(id).entry.store(entry, Ordering::Release);
    }

    /// Leaves a behaviour to the interpreter, for ever. Whoever still sees the native code runs it as well.
    pub(crate) fn forget_native(&self, id: BehaviourId) {
        self.set_entry(id, absent);
    }

    /// The code of a behaviour.
    #[inline(always)]
    pub(crate) fn behaviour(&self, id: BehaviourId) -> &BehaviourCode {
        // Acquire: a holder of the id has synchronised with its publication (invariant 2), but not with a later version's
        // (invariant 3).
        // SAFETY: written by `publish` or by a succession, and lives as long as the program (invariant 1).
        unsafe { &*self.row(id).code.load(Ordering::Acquire) }
    }

    /// Returns the name of a behaviour.
    pub(crate) fn name(&self, id: BehaviourId) -> BehaviourName {
        self.version_of(id).0
    }

    /// The same, and the hash of its unit: of one version, also while a later one takes over.
    pub(crate) fn version_of(&self, id: BehaviourId) -> (BehaviourName, u64) {
        let behaviour = self.behaviour(id);
        let name = BehaviourName {
            module: behaviour.module,
            name: behaviour.name,
            written: behaviour.written,
            captures: behaviour.written_captures(),
            stashes: behaviour.stashes,
        };
        (name, behaviour.hash)
    }

    /// The current version of a behaviour by name, and its unit's hash.
    pub(crate) fn find(&self, name: FullName) -> Option<(BehaviourId, u64)> {
        let inner = self.inner.lock();
        let id = inner.behaviours.get(&name)?.id()?;
        Some((id, *inner.modules.get(&name.0)?))
    }

    /// Returns whether another version of a behaviour's module was loaded after it.
    pub(crate) fn is_older(&self, id: BehaviourId) -> bool {
        let code = self.behaviour(id);
        let present = self.module(code.module);
        present.is_some_and(|hash| hash != code.hash)
    }

    /// Returns a version of a behaviour by the hash of its unit; of several, the one that was loaded last. One that another version
    /// has taken over is not found.
    pub(crate) fn version(&self, name: BehaviourName, hash: u64) -> Option<BehaviourId> {
        let versions = 0..self.inner.lock().behaviour_code.len() as u32;
        let mut ids = versions.rev().map(BehaviourId);
        // An image of before names said so does not say that it stashes.
        let is_named = |found: BehaviourName| {
            (found.module, found.name, found.parts()) == (name.module, name.name, name.parts())
        };
        ids.find(|id| self.behaviour(*id).hash == hash && is_named(self.name(*id)))
    }

    /// The units in the order in which they were loaded.
    pub(crate) fn units(&self) -> Vec<LoadedUnit> {
        self.inner.lock().units.clone()
    }

    /// Returns whether a cell is of a constant. Constants live as long as the program, whatever collections find.
    pub(crate) fn is_constant(&self, cell: *const u8) -> bool {
        self.inner.lock().heap.holds(cell)
    }

    /// A function of that version of a unit that is used as a value there, with so many captures, and takes `arity` arguments as such.
    pub(crate) fn function(
        &self,
        (module, name, arity): FullName,
        hash: u64,
        captures: usize,
    ) -> Option<KnownFunction> {
        let inner = self.inner.lock();
        let key = ((module, name, arity.checked_add(1)?), hash);
        let (value, has) = *inner.values.get(&key)?;
        (has == captures).then_some(KnownFunction(value))
    }

    /// The hash of a loaded module's unit.
    pub(crate) fn module(&self, module: Atom) -> Option<u64> {
        self.inner.lock().modules.get(&module).copied()
    }

    fn publish(&self, inner: &mut Registry, code: BehaviourCode) -> BehaviourId {
        let id = inner.behaviour_code.len();
        let code = NonNull::from(Box::leak(Box::new(code)));
        inner.behaviour_code.push(code);
        let id = BehaviourId(id as u32);
        // The table reads as zeroes, which is not a function. `load` checked that the id is below the table's length.
        self.set_entry(id, absent);
        // Release: invariant 2.
        self.row(id).code.store(code.as_ptr(), Ordering::Release);
        id
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let inner = self.inner.get_mut();
        // SAFETY: leaked by `install` and `publish`, freed only here, when nothing runs any more; the table was
        // mapped by `new`.
        unsafe {
            for code in inner.behaviour_code.drain(..) {
                drop(Box::from_raw(code.as_ptr()));
            }
            for code in inner.function_code.drain(..) {
                drop(Box::from_raw(code.as_ptr()));
            }
            pages::unmap(self.table.as_ptr().cast(), TABLE_BYTES, TABLE_ALIGN);
        }
    }
}

/// Stands for the native code of a socket.
extern "C" fn socket(_: *mut c_void, _: *const Actor, _: Value) -> u32 {
    SOCKET
}

/// The native code of the sink, of a machine that interprets as well.
extern "C" fn ignore(_: *mut c_void, _: *const Actor, _: Value) -> u32 {
    IGNORED
}
