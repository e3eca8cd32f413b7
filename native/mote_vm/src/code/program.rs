//! The program of a machine: everything loaded, by name and by number.
//!
//! Invariants:
//! 1. Slots, code and constants are never moved and live until the program is dropped: code refers to them by
//!    pointer, actors by number.
//! 2. A behaviour number is published in the table (release) before any slot hands it out, so whoever read it from
//!    a slot (acquire) or from an actor that such a thread made finds its code.
use super::decode::decode;
use super::entry::{absent, Entry, IGNORED};
use super::error::LoadError;
use super::ir::{Behaviour, Constant, Function, Import, OpaqueClass, Unit};
use super::job::{Compiled, Job};
use super::lower;
use super::memory::CodeMemory;
use super::op::{Code, Op};
use super::verify::{verify, Verified};
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::heap::block::BlockPool;
use crate::heap::Heap;
use crate::platform::pages;
use crate::terms::map;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Arc;

/// Makes a foreign value of an opaque constant's external form.
pub type DecodeOpaque<'a> = &'a dyn Fn(OpaqueClass, &[u8]) -> Option<ForeignRef>;

/// A name that code refers to: module, name, arity or captures.
pub(crate) type FullName = (Atom, Atom, u32);

/// Where callers find the current version of a function.
pub struct FunctionSlot {
    pub(crate) arity: u16,
    code: AtomicPtr<Code>,
    /// The same as native code; null until that is ready.
    native: AtomicPtr<u8>,
}

impl FunctionSlot {
    /// Where the native code is found, for callers in native code.
    pub(crate) const NATIVE: usize = std::mem::offset_of!(FunctionSlot, native);

    fn new(arity: u32) -> FunctionSlot {
        FunctionSlot {
            arity: arity as u16,
            code: AtomicPtr::new(null_mut()),
            native: AtomicPtr::new(null_mut()),
        }
    }

    /// Puts a new version in.
    fn set(&self, code: NonNull<Code>) {
        // First, so that nobody finds the new version's place with the old native code for long. Release, both: see
        // `code`.
        self.native.store(null_mut(), Ordering::Release);
        self.code.store(code.as_ptr(), Ordering::Release);
    }

    /// Puts the native code of that version in, unless another one stands here by now.
    fn set_native(&self, version: *const Code, native: *const u8) {
        if std::ptr::eq(self.code.load(Ordering::Relaxed), version) {
            // Release: native callers acquire.
            self.native.store(native.cast_mut(), Ordering::Release);
        }
    }

    /// The code, if the function's module is loaded.
    #[inline(always)]
    pub(crate) fn code(&self) -> Option<&Code> {
        // Acquire: pairs with the release in `install`, so that the code is seen complete.
        // SAFETY: null or code of the program (invariant 1).
        unsafe { self.code.load(Ordering::Acquire).as_ref() }
    }
}

/// Where creates and becomes find the current version of a behaviour.
pub struct BehaviourSlot {
    pub(crate) captures: u16,
    id: AtomicU32,
}

impl BehaviourSlot {
    /// What stands in place of a number while the behaviour's module is not loaded.
    pub const NOT_LOADED: u32 = u32::MAX;
    /// Where the number is found, for native code.
    pub(crate) const ID: usize = std::mem::offset_of!(BehaviourSlot, id);

    /// The current version's number, if the behaviour's module is loaded.
    #[inline(always)]
    pub fn id(&self) -> Option<BehaviourId> {
        // Acquire: pairs with the release in `install` (invariant 2).
        match self.id.load(Ordering::Acquire) {
            BehaviourSlot::NOT_LOADED => None,
            id => Some(BehaviourId(id)),
        }
    }
}

/// One installed version of a behaviour.
pub(crate) struct BehaviourCode {
    pub(crate) code: Code,
    pub(crate) captures: u16,
    /// It never becomes (verify.rs): its turns need no owner.
    pub(crate) safe: bool,
    /// Its turns run outside of the machine and nowhere else (threads/away.rs).
    pub(crate) outside_only: bool,
    /// The hash of its unit.
    pub(crate) hash: u64,
    pub(crate) module: Atom,
    pub(crate) name: Atom,
}

/// What is found by a behaviour's number.
struct BehaviourRow {
    /// Its native code, or [`absent`] while the interpreter runs it. In the table itself: a turn needs no more.
    entry: AtomicPtr<u8>,
    code: AtomicPtr<BehaviourCode>,
}

/// See the head of this file.
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
    function_code: Vec<NonNull<Code>>,
    /// Slots that only one version of a unit refers to.
    #[allow(clippy::vec_box)] // They must not move (invariant 1).
    own_functions: Vec<Box<FunctionSlot>>,
    constants: Vec<Box<[Value]>>,
    heap: Heap,
    code_memory: Vec<CodeMemory>,
}

/// Where a unit was put.
struct Installed {
    constants: *const [Value],
    functions: Vec<*const FunctionSlot>,
    behaviours: Vec<*const BehaviourSlot>,
    own: Vec<*const FunctionSlot>,
    ids: Vec<BehaviourId>,
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
                function_code: Vec::new(),
                own_functions: Vec::new(),
                constants: Vec::new(),
                heap: Heap::new(Arc::new(BlockPool::default())),
                code_memory: Vec::new(),
            }),
        };
        program.publish_ignoring("sink", true);
        Some(program)
    }

    /// A behaviour that ignores every message.
    fn publish_ignoring(&self, name: &str, safe: bool) -> BehaviourId {
        let code = BehaviourCode {
            code: Code {
                ops: Box::new([Op::Ignore]),
                arguments: Box::new([]),
                constants: std::ptr::null(),
                registers: 1,
                sites: Box::new([]),
            },
            captures: 0,
            safe,
            outside_only: false,
            hash: 0,
            module: Atom::NIL,
            name: Atom::new(name),
        };
        let id = self.publish(&mut self.inner.lock(), code);
        self.set_entry(id, ignore);
        id
    }

    /// One of which nobody knows that it never becomes another.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn publish_unsafe(&self) -> BehaviourId {
        self.publish_ignoring("unsafe", false)
    }

    #[inline(always)]
    fn row(&self, id: BehaviourId) -> &BehaviourRow {
        // SAFETY: ids are handed out by `publish` only, so the row is within the table and was written (invariants 1
        // and 2).
        unsafe { &*self.table.as_ptr().add(id.0 as usize) }
    }

    /// What runs a turn of a behaviour.
    #[inline(always)]
    pub(crate) fn entry(&self, id: BehaviourId) -> Entry {
        if cfg!(any(miri, loom)) {
            // Neither knows native code.
            return absent;
        }
        // Acquire: pairs with the release in `set_entry`.
        let entry = self.row(id).entry.load(Ordering::Acquire);
        // SAFETY: `set_entry` stores nothing but functions of this type, of ours or in code memory that lives as long as
        // the program.
        unsafe { std::mem::transmute::<*mut u8, Entry>(entry) }
    }

    fn set_entry(&self, id: BehaviourId, entry: Entry) {
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
        // Relaxed: a holder of the id has synchronised with its publication (invariant 2).
        // SAFETY: written by `publish`, and lives as long as the program (invariant 1).
        unsafe { &*self.row(id).code.load(Ordering::Relaxed) }
    }

    /// What a behaviour is called.
    pub(crate) fn name(&self, id: BehaviourId) -> BehaviourName {
        let behaviour = self.behaviour(id);
        BehaviourName {
            module: behaviour.module,
            name: behaviour.name,
            captures: behaviour.captures as usize,
        }
    }

    /// The current version of a behaviour by name, and its unit's hash.
    pub(crate) fn find(&self, name: FullName) -> Option<(BehaviourId, u64)> {
        let inner = self.inner.lock();
        let id = inner.behaviours.get(&name)?.id()?;
        Some((id, *inner.modules.get(&name.0)?))
    }

    /// Whether a cell is of a constant: these live as long as the program, whatever collections find.
    pub(crate) fn is_constant(&self, cell: *const u8) -> bool {
        self.inner.lock().heap.holds(cell)
    }

    /// The hash of a loaded module's unit.
    pub(crate) fn module(&self, module: Atom) -> Option<u64> {
        self.inner.lock().modules.get(&module).copied()
    }

    /// Decodes, verifies and installs a unit. Nothing changes unless all of it is good.
    /// The answer is the module, and what the compiler needs to know.
    pub(crate) fn load(
        &self,
        bytes: &[u8],
        opaque: DecodeOpaque,
    ) -> Result<(Atom, Job), LoadError> {
        let verified = verify(&decode(bytes)?)?;
        let unit: &Unit = &verified;
        let atoms: Vec<Atom> = unit.atoms.iter().map(|name| Atom::new(name)).collect();
        let module = Atom::new(&unit.module);
        let mut inner = self.inner.lock();
        let mark = inner.heap.mark();
        let Some(constants) = constants(unit, &atoms, &mut inner.heap, opaque) else {
            inner.heap.rewind(mark);
            return Err(LoadError::Constants);
        };
        if inner.behaviour_code.len() + unit.behaviours.len() > BehaviourId::LIMIT {
            inner.heap.rewind(mark);
            return Err(LoadError::TooManyBehaviours);
        }
        let installed = self.install(&mut inner, &verified, module, &atoms, constants);
        let job = Job {
            constants: installed.constants,
            functions: installed.functions,
            behaviours: installed.behaviours,
            own: installed.own,
            ids: installed.ids,
            verified,
        };
        Ok((module, job))
    }

    /// Makes the native code of a unit the one that runs.
    pub(crate) fn install_native(&self, job: &Job, compiled: Compiled) {
        let mut inner = self.inner.lock();
        let module = Atom::new(&job.verified.module);
        for (i, native) in compiled.functions.iter().enumerate() {
            let function = &job.verified.functions[i];
            // SAFETY: slots live as long as the program.
            let own = unsafe { &*job.own[i] };
            let version = own.code.load(Ordering::Relaxed);
            own.set_native(version, *native);
            if !function.effects {
                let name = Atom::new(&job.verified.atoms[function.name as usize]);
                let slot = function_slot(&mut inner, (module, name, function.arity));
                // SAFETY: as above.
                unsafe { &*slot }.set_native(version, *native);
            }
        }
        for (id, native) in job.ids.iter().zip(&compiled.behaviours) {
            if let Some(native) = native {
                // SAFETY: the start of a behaviour, in code memory that is kept below.
                let entry = unsafe { std::mem::transmute::<*const u8, Entry>(*native) };
                self.set_entry(*id, entry);
            }
        }
        inner.code_memory.push(compiled.memory);
    }

    fn install(
        &self,
        inner: &mut Registry,
        unit: &Verified,
        module: Atom,
        atoms: &[Atom],
        constants: Box<[Value]>,
    ) -> Installed {
        let name = |import: &Import| -> FullName {
            let (module, name) = (import.module as usize, import.name as usize);
            (atoms[module], atoms[name], import.arity)
        };
        // Calls within the unit are bound to this version for good: what verification proved of it (safe, effects)
        // stays true when another version is loaded.
        let own: Vec<*const FunctionSlot> = unit
            .functions
            .iter()
            .map(|function| {
                inner
                    .own_functions
                    .push(Box::new(FunctionSlot::new(function.arity)));
                &**inner.own_functions.last().expect("just pushed") as *const FunctionSlot
            })
            .collect();
        let functions: Vec<*const FunctionSlot> = (0..)
            .zip(&unit.functions_used)
            .map(|(i, import)| match unit.own_function(i) {
                Some(at) => own[at],
                None => function_slot(inner, name(import)),
            })
            .collect();
        let behaviours: Vec<*const BehaviourSlot> = unit
            .behaviours_used
            .iter()
            .map(|import| behaviour_slot(inner, name(import)))
            .collect();
        // Put where they stay before anything points to them (invariant 1).
        inner.constants.push(constants);
        let constants: *const [Value] = &**inner.constants.last().expect("just pushed");
        let context = lower::Context {
            // SAFETY: neither moved nor changed while the program lives.
            constants: unsafe { &*constants },
            functions: &functions,
            behaviours: &behaviours,
        };
        for (function, own) in unit.functions.iter().zip(&own) {
            let name = (module, atoms[function.name as usize], function.arity);
            install_function(inner, function, name, *own, &context);
        }
        let install = |behaviour: &Behaviour| {
            let name = (module, atoms[behaviour.name as usize], unit.hash);
            self.install_behaviour(inner, behaviour, name, &context)
        };
        let ids = unit.behaviours.iter().map(install).collect();
        inner.modules.insert(module, unit.hash);
        Installed {
            constants,
            functions,
            behaviours,
            own,
            ids,
        }
    }

    /// Publishes a behaviour, and makes it the current version of its name.
    fn install_behaviour(
        &self,
        inner: &mut Registry,
        behaviour: &Behaviour,
        (module, name, hash): (Atom, Atom, u64),
        context: &lower::Context<'_>,
    ) -> BehaviourId {
        let code = BehaviourCode {
            code: lower::lower(
                &behaviour.code,
                &behaviour.sites,
                behaviour.registers,
                context,
            ),
            captures: behaviour.captures as u16,
            safe: behaviour.safe,
            outside_only: behaviour.outside_only,
            hash,
            module,
            name,
        };
        let id = self.publish(inner, code);
        let slot = behaviour_slot(inner, (module, name, behaviour.captures));
        // SAFETY: slots live as long as the program. Release: see `BehaviourSlot::id`.
        unsafe { &*slot }.id.store(id.0, Ordering::Release);
        id
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

/// The native code of the sink, of a machine that interprets as well.
extern "C" fn ignore(_: *mut c_void, _: *const Actor, _: Value) -> u32 {
    IGNORED
}

/// Lowers a function into its own slot, and into that of its name, where other units find it.
fn install_function(
    inner: &mut Registry,
    function: &Function,
    name: FullName,
    own: *const FunctionSlot,
    context: &lower::Context<'_>,
) {
    let code = lower::lower(&function.code, &function.sites, function.registers, context);
    let code = NonNull::from(Box::leak(Box::new(code)));
    inner.function_code.push(code);
    // SAFETY: slots live as long as the program.
    unsafe { &*own }.set(code);
    // A function with effects is nobody else's: other units were verified on the promise of that.
    if !function.effects {
        let slot = function_slot(inner, name);
        // SAFETY: as above.
        unsafe { &*slot }.set(code);
    }
}

fn function_slot(inner: &mut Registry, name: FullName) -> *const FunctionSlot {
    &**inner
        .functions
        .entry(name)
        .or_insert_with(|| Box::new(FunctionSlot::new(name.2)))
}

fn behaviour_slot(inner: &mut Registry, name: FullName) -> *const BehaviourSlot {
    &**inner.behaviours.entry(name).or_insert_with(|| {
        Box::new(BehaviourSlot {
            captures: name.2 as u16,
            id: AtomicU32::new(BehaviourSlot::NOT_LOADED),
        })
    })
}

/// Up to eight bytes, the lowest first.
fn limb(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |limb, byte| limb << 8 | u64::from(*byte))
}

/// The unit's constants as values; `None` when memory ends or an opaque one cannot be decoded.
fn constants(
    unit: &Unit,
    atoms: &[Atom],
    heap: &mut Heap,
    opaque: DecodeOpaque,
) -> Option<Box<[Value]>> {
    let mut values: Vec<Value> = Vec::with_capacity(unit.constants.len());
    for constant in &unit.constants {
        let value = match constant {
            Constant::Integer(n) => Value::integer(*n)?,
            Constant::Float(f) => heap.float(*f),
            Constant::Atom(index) => Value::atom(atoms[*index as usize]),
            Constant::Nil => Value::EMPTY_LIST,
            Constant::Tuple(elements) => {
                heap.tuple(elements.len(), |i| values[elements[i] as usize])
            }
            Constant::Cons { head, tail } => {
                heap.cons(values[*head as usize], values[*tail as usize])
            }
            Constant::Map(entries) => {
                let entries = entries.iter();
                let entries =
                    entries.map(|(key, value)| (values[*key as usize], values[*value as usize]));
                map::from_entries(heap, entries.collect())
            }
            Constant::Binary(bytes) => heap.bytes(bytes),
            Constant::Big { negative, bytes } => {
                let limbs: Vec<u64> = bytes.chunks(8).map(limb).collect();
                heap.integer(*negative, &limbs)
            }
            Constant::Opaque { class, bytes } => heap.foreign(opaque(*class, bytes)?),
        };
        if value.is_none() {
            return None;
        }
        values.push(value);
    }
    Some(values.into())
}
