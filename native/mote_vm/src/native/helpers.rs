//! What native code calls: the slow paths, in Rust.
//!
//! Each calls the function that the interpreter calls, so that both tiers compute the same. None unwinds: a panic is kept in
//! [`Turn::halt`], and the answer is "stop", 0 (mod.rs, invariant 2). The turn that native code hands over is the one that it was
//! called with; nothing else refers to it meanwhile.
use super::layout::NO_ANSWER;
use crate::base::atom::Atom;
use crate::code::functions;
use crate::terms::map::{at_word, Node};
use crate::terms::prim;
use crate::terms::prim::primitive::Primitive;
use crate::terms::prim::random::Draws;
use crate::turns::interpreter::comparison;
use crate::turns::turn::exchange::Stop;
use crate::turns::turn::Turn;
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// One helper: the address of an `extern "C"` function of 64-bit words. It takes the turn first, then what is named before the
/// colon below, and returns what is named behind it, or 0 when the turn goes no further.
type Helper = *const ();

/// Number of a primitive, three arguments: its answer or `:undefined`.
pub const OP: Helper = op as Helper;
/// Number of a primitive, three arguments: its answer or [`NO_ANSWER`].
pub const GUARD: Helper = guard as Helper;
/// Number of a comparison, two values: `true` or `false`.
pub const COMPARED: Helper = compared as Helper;
/// The bits of a float: its value.
pub const FLOAT: Helper = float as Helper;
/// Nothing: a random number, as a machine float. It never stops the turn.
pub const DRAW: Helper = draw as Helper;
/// Granules: the address of a cell.
pub const ALLOCATE: Helper = allocate as Helper;
/// Nothing: the address of an actor.
pub const ALLOCATE_ACTOR: Helper = allocate_actor as Helper;
/// Nothing: the fuel of the next slice.
pub const REFUEL: Helper = refuel as Helper;
/// Target and message: any word.
pub const SEND: Helper = send as Helper;
/// Sponsor, target and message: any word.
pub const SENDX: Helper = sendx as Helper;
/// Delay, target and message: the timer.
pub const SEND_AFTER: Helper = send_after as Helper;
/// A timer: what cancelling it says.
pub const CANCEL_TIMER: Helper = cancel_timer as Helper;
/// The messages that the actor has kept, or whether they are left behind: any word.
pub const UNSTASH: Helper = unstash as Helper;
/// A function that is a value, a number of arguments: its slot.
pub const FUNCTION: Helper = function as Helper;
/// Number of a behaviour, sponsor and state: the actor.
pub const CREATE_ON: Helper = create_on as Helper;

/// The answer that means that the turn goes no further.
const STOP: u64 = Value::NONE.word();

/// Runs `work`, which answers `None` to stop.
fn carefully(turn: *mut Turn, work: impl FnOnce(&mut Turn) -> Option<u64>) -> u64 {
    // SAFETY: see the head of this file.
    let turn = unsafe { &mut *turn };
    match catch_unwind(AssertUnwindSafe(|| work(turn))) {
        Ok(answer) => answer.unwrap_or(STOP),
        Err(payload) => {
            turn.exchange.halt.stop = Stop::Panicked;
            turn.exchange.halt.payload = Some(payload);
            STOP
        }
    }
}

fn abort(turn: &mut Turn, reason: Atom) -> Option<u64> {
    turn.exchange.halt.stop = Stop::Aborted;
    turn.exchange.halt.reason = Value::atom(reason);
    None
}

/// An allocation that may have failed.
fn made(turn: &mut Turn, value: Value) -> Option<u64> {
    if value.is_none() {
        return abort(turn, Atom::NO_MEMORY);
    }
    Some(value.word())
}

/// A primitive; no answer is `otherwise`. In line, so that a known one is not looked for.
#[inline(always)]
fn primitive(turn: *mut Turn, p: u64, arguments: [Value; 3], otherwise: u64) -> u64 {
    carefully(turn, |turn| {
        let p = Primitive::from_number(p)?;
        let clock = &turn.around.clock;
        let draws = Draws(&mut turn.random, &turn.counts.turns);
        let answer = prim::apply(p, &mut turn.heap, draws, clock, &arguments);
        answered(turn, answer, otherwise)
    })
}

/// Returns the answer of a primitive, if the turn can pay for it.
fn answered(turn: &mut Turn, answer: Value, otherwise: u64) -> Option<u64> {
    if let Err(reason) = turn.pay_for_work() {
        return abort(turn, reason);
    }
    if !answer.is_none() {
        Some(answer.word())
    } else if turn.heap.exhausted() {
        abort(turn, Atom::NO_MEMORY)
    } else {
        Some(otherwise)
    }
}

extern "C" fn draw(turn: *mut Turn) -> f64 {
    // SAFETY: see the head of this file.
    let turn = unsafe { &mut *turn };
    Draws(&mut turn.random, &turn.counts.turns).uniform()
}

/// The helper of a primitive: one that knows which it is, for those that are often asked, or one that finds out.
pub fn of(p: Primitive, guarded: bool) -> Helper {
    use Primitive as P;
    match (p, guarded) {
        (P::MapGet, false) => map_get::<{ Value::UNDEFINED.word() }> as Helper,
        (P::MapGet, true) => map_get::<NO_ANSWER> as Helper,
        (P::MapFetch, true) => map_fetch as Helper,
        (P::MapHasKey, true) => map_has_key as Helper,
        (P::MapPut, true) => map_put as Helper,
        (P::MapUpdate, true) => map_update as Helper,
        (P::VecGet, true) => of_vectors::<{ P::VecGet as u8 }> as Helper,
        (P::VecMap2, true) => of_vectors::<{ P::VecMap2 as u8 }> as Helper,
        (P::VecMap2Left, true) => of_vectors::<{ P::VecMap2Left as u8 }> as Helper,
        (P::VecMap2Right, true) => of_vectors::<{ P::VecMap2Right as u8 }> as Helper,
        (P::VecDot, true) => of_vectors::<{ P::VecDot as u8 }> as Helper,
        (P::VecSum, true) => of_vectors::<{ P::VecSum as u8 }> as Helper,
        (P::VecMin, true) => of_vectors::<{ P::VecMin as u8 }> as Helper,
        (P::VecMax, true) => of_vectors::<{ P::VecMax as u8 }> as Helper,
        (P::VecDrop, false) => vec_drop as Helper,
        (_, false) => OP,
        (_, true) => GUARD,
    }
}

/// The helper of a primitive on vectors that is followed by one that drops a vector, and does both: it takes that vector in place of
/// the number. `None` where there is none.
pub fn dropping(p: Primitive) -> Option<Helper> {
    use Primitive as P;
    Some(match p {
        P::VecGet => of_vectors_dropping::<{ P::VecGet as u8 }> as Helper,
        P::VecDot => of_vectors_dropping::<{ P::VecDot as u8 }> as Helper,
        P::VecSum => of_vectors_dropping::<{ P::VecSum as u8 }> as Helper,
        P::VecMin => of_vectors_dropping::<{ P::VecMin as u8 }> as Helper,
        P::VecMax => of_vectors_dropping::<{ P::VecMax as u8 }> as Helper,
        _ => return None,
    })
}

extern "C" fn map_get<const OTHERWISE: u64>(
    turn: *mut Turn,
    _p: u64,
    map: Value,
    key: Value,
    default: Value,
) -> u64 {
    if let Some(found) = found_at_once(turn, map, key) {
        return match found {
            Some(value) => value.word(),
            None => default.word(),
        };
    }
    map_get_of_any(turn, map, key, default, OTHERWISE)
}

/// The value at a key, if words are enough to find it, or that it is not there.
#[inline(always)]
fn found_at_once(turn: *mut Turn, map: Value, key: Value) -> Option<Option<Value>> {
    // SAFETY: see the head of this file.
    let positions = unsafe { &mut (*turn).heap.positions };
    at_word(Node::of(map)?, key, |keys| positions.of(key, keys))
}

#[inline(never)]
fn map_get_of_any(turn: *mut Turn, map: Value, key: Value, default: Value, otherwise: u64) -> u64 {
    carefully(turn, |turn| {
        let found = prim::maps::map_get(&mut turn.heap.work, map, key, default);
        answered(turn, found, otherwise)
    })
}

extern "C" fn map_fetch(turn: *mut Turn, _p: u64, map: Value, key: Value, _none: Value) -> u64 {
    if let Some(found) = found_at_once(turn, map, key) {
        return found.map_or(NO_ANSWER, Value::word);
    }
    map_get_of_any(turn, map, key, Value::NONE, NO_ANSWER)
}

extern "C" fn map_has_key(turn: *mut Turn, _p: u64, map: Value, key: Value, _none: Value) -> u64 {
    carefully(turn, |turn| {
        let found = prim::maps::map_has_key(&mut turn.heap.work, map, key);
        answered(turn, found, NO_ANSWER)
    })
}

extern "C" fn map_put(turn: *mut Turn, _p: u64, map: Value, key: Value, value: Value) -> u64 {
    carefully(turn, |turn| {
        let made = prim::maps::map_put(&mut turn.heap, map, key, value);
        answered(turn, made, NO_ANSWER)
    })
}

extern "C" fn map_update(turn: *mut Turn, _p: u64, map: Value, key: Value, value: Value) -> u64 {
    carefully(turn, |turn| {
        let made = prim::maps::map_update(&mut turn.heap, map, key, value);
        answered(turn, made, NO_ANSWER)
    })
}

/// A primitive on vectors that is known where this is compiled, as it is in the code that calls it.
extern "C" fn of_vectors<const P: u8>(
    turn: *mut Turn,
    _p: u64,
    a: Value,
    b: Value,
    c: Value,
) -> u64 {
    primitive(turn, P.into(), [a, b, c], NO_ANSWER)
}

/// The same, with a vector in the place of the number, which is dropped if there is an answer.
extern "C" fn of_vectors_dropping<const P: u8>(
    turn: *mut Turn,
    dropped: Value,
    a: Value,
    b: Value,
    c: Value,
) -> u64 {
    carefully(turn, |turn| {
        let answer = of_vectors::<P>(turn, P.into(), a, b, c);
        if answer != STOP && answer != NO_ANSWER {
            prim::vectors::vec_drop(&mut turn.heap, dropped);
        }
        Some(answer)
    })
}

extern "C" fn vec_drop(turn: *mut Turn, _p: u64, a: Value, _b: Value, _c: Value) -> u64 {
    carefully(turn, |turn| {
        Some(prim::vectors::vec_drop(&mut turn.heap, a).word())
    })
}

extern "C" fn op(turn: *mut Turn, p: u64, a: Value, b: Value, c: Value) -> u64 {
    primitive(turn, p, [a, b, c], Value::UNDEFINED.word())
}

extern "C" fn guard(turn: *mut Turn, p: u64, a: Value, b: Value, c: Value) -> u64 {
    primitive(turn, p, [a, b, c], NO_ANSWER)
}

/// Returns, for tests, the answer of a primitive's helper. It is `NONE` where there is no answer, and an error if the turn
/// stops.
#[cfg(all(test, not(loom)))]
pub(crate) fn asked(turn: &mut Turn, p: Primitive, arguments: [Value; 3]) -> Result<Value, ()> {
    type OfPrimitive = extern "C" fn(*mut Turn, u64, Value, Value, Value) -> u64;
    // SAFETY: helpers of primitives have this signature.
    let helper = unsafe { std::mem::transmute::<Helper, OfPrimitive>(of(p, true)) };
    let [a, b, c] = arguments;
    match helper(turn, u64::from(p.number()), a, b, c) {
        STOP => Err(()),
        NO_ANSWER => Ok(Value::NONE),
        word => Ok(Value::from_word(word)),
    }
}

extern "C" fn compared(turn: *mut Turn, p: u64, a: Value, b: Value) -> u64 {
    carefully(turn, |turn| {
        let p = Primitive::from_number(p)?;
        let holds = comparison(p, a, b, &mut turn.heap.work);
        match turn.pay_for_work() {
            Ok(()) => Some(Value::boolean(holds).word()),
            Err(reason) => abort(turn, reason),
        }
    })
}

/// Takes the float as its bits: one in its own register would have to be in the first of those wherever it is made a word.
extern "C" fn float(turn: *mut Turn, bits: u64) -> u64 {
    carefully(turn, |turn| {
        let value = turn.heap.float(f64::from_bits(bits));
        made(turn, value)
    })
}

extern "C" fn allocate(turn: *mut Turn, granules: u64) -> u64 {
    carefully(turn, |turn| match turn.heap.allocate(granules as usize) {
        Some(cell) => Some(cell.as_ptr() as u64),
        None => abort(turn, Atom::NO_MEMORY),
    })
}

extern "C" fn allocate_actor(turn: *mut Turn) -> u64 {
    carefully(turn, |turn| match turn.heap.allocate_actors(1) {
        Some(actor) => Some(actor.as_ptr() as u64),
        None => abort(turn, Atom::NO_MEMORY),
    })
}

extern "C" fn refuel(turn: *mut Turn) -> u64 {
    carefully(turn, |turn| match turn.refuel() {
        Ok(()) => Some(turn.fuel.slice),
        Err(reason) => abort(turn, reason),
    })
}

/// The words that answer nothing but "go on".
const ON: Option<u64> = Some(1);

extern "C" fn send(turn: *mut Turn, target: Value, message: Value) -> u64 {
    carefully(turn, |turn| {
        turn.send(target, message);
        ON
    })
}

extern "C" fn sendx(turn: *mut Turn, to: Value, target: Value, message: Value) -> u64 {
    carefully(turn, |turn| {
        turn.sendx(to, target, message);
        ON
    })
}

extern "C" fn send_after(turn: *mut Turn, delay: Value, target: Value, message: Value) -> u64 {
    carefully(turn, |turn| {
        let timer = turn.send_after(delay, target, message);
        made(turn, timer)
    })
}

extern "C" fn cancel_timer(turn: *mut Turn, timer: Value) -> u64 {
    carefully(turn, |turn| Some(turn.cancel_timer(timer).word()))
}

extern "C" fn unstash(turn: *mut Turn, kept: Value) -> u64 {
    carefully(turn, |turn| {
        turn.at_commit.stash.put(kept, &mut turn.unusual);
        ON
    })
}

extern "C" fn function(turn: *mut Turn, function: Value, arguments: u64) -> u64 {
    if let Some(slot) = functions::slot_of(function, arguments as usize) {
        return slot.as_ptr().expose_provenance() as u64;
    }
    carefully(turn, |turn| {
        // The interpreter tells what was called, and with what.
        turn.exchange.halt.stop = Stop::NotReady;
        None
    })
}

extern "C" fn create_on(turn: *mut Turn, id: u64, sponsor: Value, state: Value) -> u64 {
    carefully(turn, |turn| {
        let actor = turn.create_on(BehaviourId(id as u32), sponsor, state);
        made(turn, actor)
    })
}
