//! Many messages in one call.
use crate::enter::batch::{address_of, sponsor_of, Run};
use crate::enter::target::Addressee;
use crate::held::machine::{sponsor, MachineResource};
use crate::term::atoms::names;
use crate::term::read::{list_cell, tuple_elements, word_of};
use crate::term::resource;
use rustler::{Encoder, Env, Term};

/// Sends a list to one actor: how many were accepted, what is left, and why: `:ok` (nothing is), `:more` (call again),
/// `:big` (the first one that is left is too much for this scheduler), or what `send` says.
#[rustler::nif]
fn send_many<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    messages: Term<'a>,
) -> Term<'a> {
    let found = Addressee::find((machine, key, sponsor)).and_then(|target| {
        let held = target.machine.hold(target.key);
        Ok((held.ok_or_else(names::unknown)?, target))
    });
    let (held, target) = match found {
        Ok(found) => found,
        Err(word) => return (0, messages, word).encode(env),
    };
    let entrance = target.machine.entrance_to(&held, target.sponsor);
    let mut run = Run::new(target.resource, target.machine, entrance);
    run.letters.address(held);
    let mut rest = messages;
    while let Some((message, tail)) = list_cell(rest) {
        if !run.write(message) {
            break;
        }
        rest = tail;
    }
    run.send(messages, rest).encode(env)
}

/// Sends `{address, message}` for each in a list, as `send_many`; also `:other`, when the first one that is left is for
/// something else.
#[rustler::nif]
fn send_pairs<'a>(env: Env<'a>, pairs: Term<'a>, name: Term<'a>) -> Term<'a> {
    let Some((first, _)) = list_cell(pairs) else {
        return (0, pairs, names::ok()).encode(env);
    };
    let found = address_of(first).and_then(|address| {
        let found = resource::get(address.machine);
        let resource: &MachineResource = found.ok_or_else(names::other)?;
        let machine = resource.open(env)?;
        let named = sponsor(machine, name)?;
        let own = sponsor_of(machine, &address, named)?;
        let held = machine.hold(address.key).ok_or_else(names::unknown)?;
        let entrance = machine.entrance_to(&held, own);
        Ok((resource, machine, named, entrance))
    });
    let (resource, machine, named, entrance) = match found {
        Ok(found) => found,
        Err(word) => return (0, pairs, word).encode(env),
    };
    let mut run = Run::new(resource, machine, entrance);
    let mut last = None;
    let mut rest = pairs;
    while let Some((pair, tail)) = list_cell(rest) {
        let [address, message] = tuple_elements(pair) else {
            run.why = names::other();
            break;
        };
        let word = word_of(*address);
        if last != Some(word) {
            if let Err(why) = run.turn_to(pair, resource, named) {
                run.why = why;
                break;
            }
            last = Some(word);
        }
        // SAFETY: elements belong to the environment of their tuple.
        if !run.write(unsafe { Term::new(env, *message) }) {
            break;
        }
        rest = tail;
    }
    run.send(pairs, rest).encode(env)
}
