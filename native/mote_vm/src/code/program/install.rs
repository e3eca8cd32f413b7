//! Puts a unit into the program, and later its native code: by a program's invariants, so that a concurrent reader finds one
//! version or the other.
use super::{written_name, BehaviourCode, FullName, LoadedUnit, Program, Registry};
use crate::base::atom::Atom;
use crate::code::constants::{constants, DecodeOpaque};
use crate::code::decode::decode;
use crate::code::entry::EntryPoint;
use crate::code::error::LoadError;
use crate::code::functions;
use crate::code::ir::{Behaviour, Function, Import, Instr, Operand, Unit};
use crate::code::job::{Compiled, Job};
use crate::code::lower;
use crate::code::slots::{BehaviourSlot, FunctionSlot};
use crate::code::temporaries;
use crate::code::verify::{verify, Verified};
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

impl Program {
    /// Decodes, verifies and installs a unit. Nothing changes unless all of it is good.
    /// The answer is the module, and what the compiler needs to know.
    pub(crate) fn load(
        &self,
        bytes: &[u8],
        opaque: DecodeOpaque,
    ) -> Result<(Atom, Job), LoadError> {
        let verified = verify(&decode(bytes)?)?.changed(temporaries::note);
        let atoms: Vec<Atom> = verified.atoms.iter().map(|name| Atom::new(name)).collect();
        let module = Atom::new(&verified.module);
        let mut inner = self.inner.lock();
        let position = inner.heap.position();
        let Some(constants) = constants(&verified, &atoms, &mut inner.heap, opaque) else {
            inner.heap.rewind(&position);
            return Err(LoadError::Constants);
        };
        if inner.behaviour_code.len() + verified.behaviours.len() > BehaviourId::LIMIT {
            inner.heap.rewind(&position);
            return Err(LoadError::TooManyBehaviours);
        }
        let own = own_slots(&mut inner, &verified);
        let Some(constants) = with_values(&mut inner, &verified, (module, &atoms), &own, constants)
        else {
            return Err(LoadError::Constants);
        };
        let unit = (bytes, verified, own);
        let job = self.install(&mut inner, unit, module, &atoms, constants);
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
                let entry = unsafe { std::mem::transmute::<*const u8, EntryPoint>(*native) };
                self.install_entry(&inner, *id, entry);
            }
        }
        inner.code_memory.push(compiled.memory);
    }

    fn install(
        &self,
        inner: &mut Registry,
        (bytes, verified, own): (&[u8], Verified, Vec<*const FunctionSlot>),
        module: Atom,
        atoms: &[Atom],
        constants: Box<[Value]>,
    ) -> Job {
        let unit = &verified;
        let name = |import: &Import| -> FullName {
            let (module, name) = (import.module as usize, import.name as usize);
            (atoms[module], atoms[name], import.arity)
        };
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
            values: unit.constants.len(),
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
        let bytes: Arc<[u8]> = bytes.into();
        inner.units.push(LoadedUnit {
            module,
            hash: unit.hash,
            bytes: bytes.clone(),
        });
        Job {
            bytes,
            constants,
            functions,
            behaviours,
            own,
            ids,
            verified,
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
        let slot = behaviour_slot(inner, (module, name, behaviour.captures));
        // Of whatever version: what an actor keeps may have been another behaviour's before (`defchange`).
        let is_newer = inner.modules.contains_key(&module);
        let code = BehaviourCode {
            code: lower::lower(
                &behaviour.code,
                &behaviour.sites,
                behaviour.registers,
                context,
            ),
            captures: behaviour.captures as u16,
            safe: behaviour.safe,
            away_only: behaviour.away_only,
            stashes: stashes(behaviour),
            is_newer,
            hash,
            module,
            name,
            written: written_name(name).0,
        };
        let id = self.publish(inner, code);
        // SAFETY: as above. Release: see `BehaviourSlot::id`.
        unsafe { &*slot }.id.store(id.0, Ordering::Release);
        id
    }
}

/// Returns whether a behaviour keeps messages in its last capture: each of its clauses says so at its beginning, where nothing else has
/// been put there.
fn stashes(behaviour: &Behaviour) -> bool {
    let Some(last) = behaviour.captures.checked_sub(1) else {
        return false;
    };
    let kept = Operand::Register(last as u16);
    let is_written = |instr: &Instr| instr.written().iter().any(|range| range.contains(&last));
    let mut before = behaviour.code.iter().take_while(|instr| !is_written(instr));
    before.any(|instr| matches!(instr, Instr::Unstash { kept: found } if *found == kept))
}

/// Makes the slots of a unit's own functions. Calls within the unit, and functions that are values, are bound to this version for
/// good: what verification proved of it (safe, effects) stays true when another version is loaded.
fn own_slots(inner: &mut Registry, unit: &Unit) -> Vec<*const FunctionSlot> {
    let make = |function: &Function| {
        let slot = Box::new(FunctionSlot::new(function.arity));
        inner.own_functions.push(slot);
        &**inner.own_functions.last().expect("just pushed") as *const FunctionSlot
    };
    unit.functions.iter().map(make).collect()
}

/// The constants of a unit, and behind them what each function that it uses is as a value, if it has such values; `None` when memory
/// ends.
fn with_values(
    inner: &mut Registry,
    unit: &Verified,
    (module, atoms): (Atom, &[Atom]),
    own: &[*const FunctionSlot],
    constants: Box<[Value]>,
) -> Option<Box<[Value]>> {
    // The number of captures of each that is made a value.
    let mut used = vec![None; unit.functions_used.len()];
    let functions = unit.functions.iter().map(|f| &f.code);
    let codes = functions.chain(unit.behaviours.iter().map(|b| &b.code));
    for instr in codes.flatten() {
        if let Instr::Fun {
            function, captures, ..
        } = instr
        {
            used[*function as usize] = Some(captures.len());
        }
    }
    if used.iter().all(Option::is_none) {
        return Some(constants);
    }
    let (mut all, mut known) = (constants.into_vec(), Vec::new());
    for (i, used) in (0..).zip(used) {
        let Some((at, captures)) = unit.own_function(i).zip(used) else {
            all.push(Value::NIL);
            continue;
        };
        let function = &unit.functions[at];
        let name = (module, atoms[function.name as usize], function.arity);
        let key = (name, unit.hash);
        let value = match inner.values.get(&key) {
            Some((value, _)) => *value,
            None => functions::described(&mut inner.heap, name, unit.hash, own[at]),
        };
        if value.is_none() {
            return None;
        }
        known.push((key, (value, captures)));
        all.push(value);
    }
    // All of them or none: what is known has code.
    inner.values.extend(known);
    Some(all.into())
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
