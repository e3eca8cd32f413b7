//! The beginning of a value that somebody reads.
//!
//! A part's place is paid for by the whole: so what has no parts is shown, whatever stands beside it. What has too many
//! parts is cut, and stays of its kind: which exception Elixir would have raised is found out with what is shown. Only
//! where no part has room stands `:...`.
use super::{DecodeStep, Decoder};
use crate::term::atoms::{self, names};
use mote_vm::{Map, Origin, Term as VmTerm, View};
use rustler::Env;

/// How many elements of a list, and parts of whatever is cut.
const MOST: usize = 50;

/// How many of so many parts are shown: all, where there is room; otherwise so few that there is room for what is in them.
fn fitting(count: usize, room: usize) -> usize {
    match count <= room {
        true => count,
        false => MOST.min(room / 2),
    }
}

impl Decoder {
    /// Steps for the first parts of a value; false if there is no room for any.
    pub(super) fn beginning<'m, O: Origin<'m>>(
        &mut self,
        env: Env<'_>,
        value: VmTerm<'m, O>,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) -> bool {
        let room = self.room();
        let parts = match value.view() {
            View::Tuple(_) => self.first_elements(value, room, steps),
            View::Map(_) => first_entries(env, value, room / 2, steps),
            _ => front(value, room, steps),
        };
        self.nodes += parts.unwrap_or(0);
        parts.is_some()
    }

    fn room(&self) -> usize {
        let limit = self.limit.unwrap_or(usize::MAX);
        limit.saturating_sub(self.nodes)
    }

    /// The next of so many values has its part of the room that is left until `end`, the last one all of it.
    pub(super) fn share(&mut self, values: usize, end: usize) {
        let left = end.saturating_sub(self.nodes);
        self.limit = Some(self.nodes + left / values);
    }

    /// Of a tuple, whose elements share what is left: none is lost for what stands before it.
    fn first_elements<'m, O: Origin<'m>>(
        &self,
        tuple: VmTerm<'m, O>,
        room: usize,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) -> Option<usize> {
        let View::Tuple(elements) = tuple.view() else {
            return None;
        };
        let (count, end) = (elements.len(), self.limit.unwrap_or(usize::MAX));
        let shown = fitting(count, room);
        let made = shown + more(count, shown)?;
        steps.push(DecodeStep::Tuple(made));
        steps.extend((shown < count).then_some(DecodeStep::More));
        for (left, element) in (1..).zip(elements.iter().take(shown).rev()) {
            steps.extend([DecodeStep::Visit(element), DecodeStep::Share(left, end)]);
        }
        Some(made)
    }
}

/// How many placeholders: one where something is left out. `None` if that is all.
fn more(count: usize, shown: usize) -> Option<usize> {
    match shown < count {
        true => (shown > 0).then_some(1),
        false => Some(0),
    }
}

/// Whether no value of a map has parts.
fn is_plain<'m, O: Origin<'m>>(map: Map<'m, O>) -> bool {
    map.iter()
        .all(|(_, value)| !matches!(value.view(), View::Tuple(_) | View::Map(_) | View::Cons(..)))
}

/// Of a map. One that is cut is no struct: no protocol of its own makes sense of it.
fn first_entries<'m, O: Origin<'m>>(
    env: Env<'_>,
    map: VmTerm<'m, O>,
    room: usize,
    steps: &mut Vec<DecodeStep<'m, O>>,
) -> Option<usize> {
    let View::Map(map) = map.view() else {
        return None;
    };
    let name = names::__struct__().to_term(env);
    let is_name = |key: VmTerm<'m, O>| match key.view() {
        View::Atom(key) => atoms::to_term(env, key) == name,
        _ => false,
    };
    let count = map.len();
    let fits = count <= room && (map.iter().any(|(key, _)| is_name(key)) || is_plain(map));
    let shown = match fits {
        true => count,
        // Room for what the values are made of is worth more than many keys.
        false => count.min(MOST).min(room / 2),
    };
    let cut = more(count, shown)? == 1;
    let entries = map.iter().filter(|(key, _)| !(cut && is_name(*key)));
    let (keys, values): (Vec<_>, Vec<_>) = entries.take(shown).unzip();
    let made = keys.len() + usize::from(cut);
    steps.push(DecodeStep::Map(made));
    for parts in [values, keys] {
        steps.extend(cut.then_some(DecodeStep::More));
        steps.extend(parts.into_iter().rev().map(DecodeStep::Visit));
    }
    Some(2 * made)
}

/// Of a list.
fn front<'m, O: Origin<'m>>(
    list: VmTerm<'m, O>,
    room: usize,
    steps: &mut Vec<DecodeStep<'m, O>>,
) -> Option<usize> {
    let (mut heads, mut rest) = (Vec::new(), list);
    while let View::Cons(head, tail) = rest.view() {
        heads.push(head);
        if heads.len() > MOST.min(room) {
            break;
        }
        rest = tail;
    }
    let count = heads.len();
    let cut = count > MOST.min(room);
    if cut {
        heads.truncate(MOST.min(room / 2));
    }
    let made = heads.len() + more(count, heads.len())?;
    steps.push(DecodeStep::Front(made));
    match cut {
        true => steps.extend([DecodeStep::End, DecodeStep::More]),
        false => steps.push(DecodeStep::Visit(rest)),
    }
    steps.extend(heads.into_iter().rev().map(DecodeStep::Visit));
    Some(made)
}
