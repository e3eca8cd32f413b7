//! The beginning of a value that somebody reads.
//!
//! A part's place is paid for by the whole: so what has no parts is shown, whatever stands beside it. What has too many
//! parts is cut, and stays of its kind: which exception Elixir would have raised is found out with what is shown. Only
//! where no part has room stands `:...`.
use super::{DecodeStep, Decoder};
use crate::term::atoms::{self, names};
use mote_vm::{Map, Origin, Term as VmTerm, Tuple, View};
use rustler::Env;

/// The most elements shown of a list, or parts of anything else that is cut.
const MOST: usize = 50;

/// Room for a part that has parts, as far as it is kept for it.
const PART: usize = 8;

/// Returns the room for a part's own parts. A few that can be read are better than many of which only the number is seen.
fn within<'m, O: Origin<'m>>(part: VmTerm<'m, O>) -> usize {
    PART.min(match part.view() {
        View::Tuple(elements) => elements.len(),
        View::Map(map) => 2 * map.len(),
        View::Cons(..) => 2,
        _ => 0,
    })
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
            View::Tuple(elements) => self.first_elements(elements, room, steps),
            View::Map(map) => first_entries(env, map, room, steps),
            _ => front(value, room, steps),
        };
        self.nodes += parts.unwrap_or(0);
        parts.is_some()
    }

    fn room(&self) -> usize {
        self.limit
            .map_or(0, |limit| limit.saturating_sub(self.nodes))
    }

    /// Gives the next of `values` values its share of the room that is left until `end`; the last one gets all of it.
    pub(super) fn share(&mut self, values: u32, end: u32) {
        let left = (end as usize).saturating_sub(self.nodes);
        self.limit = Some(self.nodes + left / values as usize);
    }

    /// Visits the first elements of a tuple, which share the room that is left. No element is lost because of those before it.
    fn first_elements<'m, O: Origin<'m>>(
        &self,
        elements: Tuple<'m, O>,
        room: usize,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) -> Option<usize> {
        let (count, end) = (elements.len(), (self.nodes + room) as u32);
        let shown = match count <= room {
            true => count,
            false => MOST.min(room / 2),
        };
        let made = shown + more(count, shown)?;
        steps.push(DecodeStep::Tuple(made));
        steps.extend((shown < count).then_some(DecodeStep::More));
        for (left, element) in (1..).zip(elements.iter().take(shown).rev()) {
            steps.extend([DecodeStep::Visit(element), DecodeStep::Share(left, end)]);
        }
        Some(made)
    }
}

/// Returns the number of placeholders: one if something is left out. `None` if nothing else would be shown.
fn more(count: usize, shown: usize) -> Option<usize> {
    match shown < count {
        true => (shown > 0).then_some(1),
        false => Some(0),
    }
}

/// Returns the number of a map's entries that are shown. A struct shows all of them if only their places have room.
fn entries<'m, O: Origin<'m>>(
    map: Map<'m, O>,
    room: usize,
    is_name: impl Fn(VmTerm<'m, O>) -> bool,
) -> usize {
    let count = map.len();
    if 2 * count <= room && map.iter().any(|(key, _)| is_name(key)) {
        return count;
    }
    let mut needed = 0;
    let have_room = map.iter().take_while(|(key, value)| {
        needed += 2 + within(*key) + within(*value);
        needed <= room
    });
    match have_room.count() {
        // A large one stands there for itself, with a placeholder beside it.
        0 => count.min(room / 4).min(1),
        shown if shown < count => shown.min(MOST),
        shown => shown,
    }
}

/// Visits the first entries of a map. A struct that is cut loses its name, so that no protocol tries to make sense of it.
fn first_entries<'m, O: Origin<'m>>(
    env: Env<'_>,
    map: Map<'m, O>,
    room: usize,
    steps: &mut Vec<DecodeStep<'m, O>>,
) -> Option<usize> {
    let name = names::__struct__().to_term(env);
    let is_name = |key: VmTerm<'m, O>| match key.view() {
        View::Atom(key) => atoms::to_term(env, key) == name,
        _ => false,
    };
    let shown = entries(map, room, is_name);
    let cut = more(map.len(), shown)? == 1;
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

/// Visits the first elements of a list.
fn front<'m, O: Origin<'m>>(
    list: VmTerm<'m, O>,
    room: usize,
    steps: &mut Vec<DecodeStep<'m, O>>,
) -> Option<usize> {
    let (mut heads, mut rest, mut needed) = (Vec::new(), list, 0);
    let cut = loop {
        let View::Cons(head, tail) = rest.view() else {
            break false;
        };
        needed += 1 + within(head);
        // The first one is shown in any case.
        if heads.len() == MOST.min(room) || (needed > room && !heads.is_empty()) {
            break true;
        }
        heads.push(head);
        rest = tail;
    };
    let made = heads.len() + more(heads.len() + usize::from(cut), heads.len())?;
    steps.push(DecodeStep::Front(made));
    match cut {
        true => steps.extend([DecodeStep::End, DecodeStep::More]),
        false => steps.push(DecodeStep::Visit(rest)),
    }
    steps.extend(heads.into_iter().rev().map(DecodeStep::Visit));
    Some(made)
}
