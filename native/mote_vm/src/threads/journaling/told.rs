//! What a turn of a durable machine tells the outside: the names of addresses, and the numbers of messages.
//!
//! Invariants:
//! 1. Addresses are named in an order that follows from the message, so that the turns of another life give the same names to the same
//!    actors. What has no such order is not told.
//! 2. Only addresses that somebody outside sees are named: each name keeps its actor alive.
use super::Dispatch;
use crate::base::atom::Atom;
use crate::terms::map::Node;
use crate::values::actor::Actor;
use crate::values::foreign::{Class, Outgoing};
use crate::values::term::Term;
use crate::values::value::Value;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Parts of a message that are visited without a look whether that was done before.
const FEW: usize = 64;

/// Parts that are still to be visited: few in most messages.
type PartsToVisit = SmallVec<[Value; 8]>;

impl Dispatch {
    /// Names what a turn tells the outside: addresses that nobody has yet get their keys, and messages to processes their numbers. A
    /// mute machine tells nothing.
    #[cold]
    pub(crate) fn note_told(&mut self, outgoing: &mut Vec<Outgoing>) {
        let machine = self.context.machine.clone();
        let Some(journal) = machine.journal() else {
            return;
        };
        for out in outgoing.iter_mut() {
            if !is_shown(out) {
                continue;
            }
            each_address(out.message, |address| {
                let actor = address.address_pointer();
                // SAFETY: part of a message of a turn that has just run.
                let pinned = unsafe { (*actor).header().pinned() };
                machine.handles().name(actor, pinned, || journal.name());
            });
            if out.target.foreign_class() != Some(Class::Pid) {
                continue;
            }
            let number = journal.tell();
            if journal.config.numbered {
                let (tag, number) = (Atom::new("mote_told"), number as i64);
                let parts = [Value::atom(tag), Value::fixnum(number), out.message];
                let heap = &mut self.turn.heap;
                out.message = heap.insist(|heap| heap.tuple(parts.len(), |i| parts[i]));
            }
        }
        if journal.is_mute() {
            outgoing.retain(|out| out.target.foreign_class().is_none());
        }
    }

    /// Returns whether a turn of a durable machine tells the outside new addresses in an order that follows from nothing: that of a map
    /// whose keys have addresses depends on where actors are.
    pub(crate) fn tells_in_no_order(&self) -> bool {
        let machine = &self.context.machine;
        if machine.journal().is_none() {
            return false;
        }
        let mut named = FxHashSet::default();
        let outgoing = self.turn.at_commit.outgoing.iter();
        outgoing.filter(|out| is_shown(out)).any(|out| {
            has_no_order(out.message, &mut named, &|actor| {
                machine.handles().is_named(actor)
            })
        })
    }
}

/// Returns whether somebody outside sees what is in a message.
fn is_shown(out: &Outgoing) -> bool {
    let target = out.target.as_foreign();
    target.is_some_and(|target| target.shows(Term::new(out.message)))
}

/// Returns whether a map in a value has several keys with addresses, and in these entries several actors that are neither named by now,
/// nor by what is shown before (`named`).
fn has_no_order(
    value: Value,
    named: &mut FxHashSet<*const Actor>,
    is_named: &dyn Fn(*const Actor) -> bool,
) -> bool {
    let mut found = false;
    visit_parts(value, |part, parts| {
        if part.is_address() {
            named.insert(part.address_pointer());
        } else if let Some(node) = Node::of(part) {
            let mut by_address = Vec::new();
            each_entry(node, &mut |key, item| {
                let mut has_address = false;
                each_address(key, |_| has_address = true);
                if has_address {
                    by_address.extend([key, item]);
                }
                parts.extend([item, key]);
            });
            // One entry has an order.
            if by_address.len() > 2 {
                let mut new = FxHashSet::default();
                for part in by_address {
                    each_address(part, |address| {
                        let actor = address.address_pointer();
                        if !named.contains(&actor) && !is_named(actor) {
                            new.insert(actor);
                        }
                    });
                }
                found |= new.len() > 1;
            }
        } else {
            add_parts(part, parts);
        }
    });
    found
}

/// Shows every address in a value, in an order that follows from the value.
fn each_address(value: Value, mut show: impl FnMut(Value)) {
    visit_parts(value, |part, parts| {
        if part.is_address() {
            show(part);
        } else if let Some(node) = Node::of(part) {
            parts.extend(node.items.iter().rev().copied());
            if node.is_leaf() {
                parts.extend(node.keys.iter().rev().copied());
            }
        } else {
            add_parts(part, parts);
        }
    });
}

/// Visits the addresses in a value, and what has parts. `visit` adds the parts that it goes on with, the last one first.
fn visit_parts(value: Value, mut visit: impl FnMut(Value, &mut PartsToVisit)) {
    let mut parts = PartsToVisit::from_slice(&[value]);
    let (mut visited, mut met) = (0, FxHashSet::default());
    while let Some(part) = parts.pop() {
        if !part.is_address() {
            if part.is_immediate() {
                continue;
            }
            // What is shared is visited once: written out, it could be larger than all that the machine holds.
            visited += 1;
            if visited > FEW && !met.insert(part.word()) {
                continue;
            }
        }
        visit(part, &mut parts);
    }
}

/// Shows the entries of a map.
fn each_entry(node: Node<'_>, show: &mut dyn FnMut(Value, Value)) {
    for (n, item) in node.items.iter().enumerate() {
        match Node::of(*item).filter(|_| !node.is_leaf()) {
            Some(inner) => each_entry(inner, show),
            None => show(node.keys[n], *item),
        }
    }
}

/// Adds the parts of what is no map, the last one first.
fn add_parts(part: Value, parts: &mut PartsToVisit) {
    if let Some(elements) = part.as_tuple().or_else(|| part.as_captured()) {
        parts.extend(elements.iter().rev().copied());
    } else if let Some((head, tail)) = part.as_cons() {
        parts.extend([tail, head]);
    } else {
        parts.extend(part.as_on().map(|(_, address)| address));
    }
}
