//! A situation becomes actors and values in a heap again.
use super::situation::{keeps_something, Heard, SentBy, Situation, WaitingEvent};
use super::written::{ACTOR, ANY, GONE, HEAD, ITSELF};
use crate::boundary::parcel::{unpack_all, MadeOnce};
use crate::code::program::Program;
use crate::heap::Heap;
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;

/// A situation in a heap, and its actors by their numbers.
pub(super) struct Live {
    pub(super) situation: Situation,
    pub(super) actors: Vec<*const Actor>,
}

/// Makes a situation that was written down; `None` when the memory is exhausted.
///
/// `birth` is the header of new actors, `roots` how many of them the outside holds.
pub(super) fn read(
    words: &[Value],
    roots: usize,
    program: &Program,
    foreigns: &[ForeignRef],
    birth: Header,
    heap: &mut Heap,
) -> Option<Live> {
    let count = |at: usize| words[at].word() as usize;
    let [actors, pending, heard] = [0, 1, 2].map(count);
    let behaviours = HEAD..HEAD + actors;
    let events = behaviours.end..behaviours.end + pending;
    let hearers = events.end..events.end + heard;
    let values = hearers.end..words.len();

    let mut made = Vec::with_capacity(actors);
    for _ in 0..actors {
        let address = heap.actor(birth.of(BehaviourId::SINK), Value::NONE);
        made.push((!address.is_none()).then_some(address)?);
    }
    let (mut once, mut stack) = (MadeOnce::default(), Vec::new());
    let foreign = |at: usize| foreigns.get(at).cloned();
    if !unpack_all(words, values, foreign, &made, &mut once, heap, &mut stack) {
        return None;
    }
    let mut values = stack.into_iter().rev();
    let mut value = || values.next().unwrap_or(Value::UNDEFINED);
    for (word, address) in words[behaviours].iter().zip(&made) {
        let id = BehaviourId(word.word() as u32);
        let captures = program.behaviour(id).captures as usize;
        let state = heap.captures(captures, |_| value())?;
        // SAFETY: made above, and nobody else's.
        unsafe { &*address.address_pointer() }.set(id, state);
    }
    let actor = |number: u32| {
        let address = made.get(number as usize).copied();
        address.map_or(std::ptr::null(), Value::address_pointer)
    };
    let event = |word: &Value| {
        let sender = (word.word() >> 32) as u32;
        WaitingEvent {
            target: actor(word.word() as u32),
            sender: match sender {
                ANY => SentBy::Any,
                ITSELF => SentBy::Itself,
                number if number & ACTOR != 0 => SentBy::Actor(actor(number & !ACTOR)),
                number => SentBy::Gone(number - GONE),
            },
            message: value(),
        }
    };
    let pending = words[events].iter().map(event).collect();
    let heard = words[hearers].iter().map(|word| Heard {
        by: word.word() as u32,
        message: value(),
    });
    let heard = heard.collect();
    let actors: Vec<_> = made
        .iter()
        .map(|address| address.address_pointer())
        .collect();
    let keepers = actors
        .iter()
        .copied()
        .filter(|actor| keeps_something(program, *actor));
    Some(Live {
        situation: Situation {
            roots: actors[..roots].into(),
            keepers: keepers.collect(),
            pending,
            heard,
        },
        actors,
    })
}
