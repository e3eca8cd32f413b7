//! The actors of a machine, some at a time, as lists of their states.
use crate::codec::budget;
use crate::codec::decode::Decoder;
use crate::deliver::mail::tell;
use crate::enter::question::inquiry;
use crate::held::lives::present;
use crate::held::machine::MachineResource;
use crate::look::peek::state;
use crate::term::atoms::{names, Name};
use crate::term::make;
use crate::term::resource;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::look::fold::{ActorsFold, FoldEnd, FoldFilter, FoldPlace, PLACE_WORDS};
use mote_vm::machine::Machine;
use rustler::{Atom, Binary, Encoder, Env, Term};

/// The machine, where the fold goes on, and the module and the name of the behaviours that it shows, or `nil`.
pub type FoldArguments<'a> = (Term<'a>, Binary<'a>, Name, Name);

/// Shows actors from a place on, as `{[state], place, end}`. A state that cannot be seen at once is the actor's address instead.
pub fn fold_here<'a>(env: Env<'a>, arguments: FoldArguments<'a>) -> Term<'a> {
    let (running, mut place, filter) = match read(arguments) {
        Ok(read) => read,
        Err(word) => return word.encode(env),
    };
    let (mut decoder, mut list) = (Decoder::default(), Vec::new());
    let end = running.fold_here(&mut place, |fold, place| {
        shown(env, &mut decoder, fold, (place, &filter), &mut list)
    });
    budget::spent(env, decoder.nodes() + list.len());
    part(env, list, &place, word(end))
}

/// Asks the thread of a place to show actors; or any thread, while everything stands still.
pub fn fold_there<'a>(
    env: Env<'a>,
    arguments: FoldArguments<'a>,
    stands_still: bool,
    tag: Term<'a>,
) -> Term<'a> {
    let machine = arguments.0;
    let (running, before, filter) = match read(arguments) {
        Ok(read) => read,
        Err(word) => return word.encode(env),
    };
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let look = move |fold: &mut ActorsFold<'_>| {
            if customer.claim() {
                tell(&fold.machine(), customer.pid(), |env, decoder| {
                    let (mut list, mut place) = (Vec::new(), before);
                    let end = shown(env, decoder, fold, (&mut place, &filter), &mut list);
                    let word = match end {
                        // Its actors go from thread to thread.
                        FoldEnd::Elsewhere if place.slice == before.slice => names::standing(),
                        end => word(end),
                    };
                    customer.tagged(env, part(env, list, &place, word))
                });
            }
        };
        running.fold_there(&before, stands_still, Box::new(look));
        Ok(())
    })
}

fn read<'a>(
    (machine, place, module, name): FoldArguments<'a>,
) -> Result<(&'a Machine, FoldPlace, FoldFilter), Atom> {
    let resource: &MachineResource = resource::get(present(machine)).ok_or_else(names::unknown)?;
    let running = resource.running().ok_or_else(names::stopped)?;
    let mut words = [0; PLACE_WORDS];
    // Of nothing, the first place.
    for (word, bytes) in words.iter_mut().zip(place.chunks_exact(8)) {
        *word = bytes.try_into().map_or(0, u64::from_ne_bytes);
    }
    let named = |Name(name)| (name != VmAtom::NIL).then_some(name);
    let filter = FoldFilter {
        module: named(module),
        name: named(name),
    };
    Ok((running, FoldPlace::of(words), filter))
}

fn shown<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    fold: &mut ActorsFold<'_>,
    (place, filter): (&mut FoldPlace, &FoldFilter),
    list: &mut Vec<Term<'a>>,
) -> FoldEnd {
    let machine = fold.machine();
    fold.each(place, filter, |actor, seen| {
        list.push(match seen {
            Some(seen) => state(env, decoder, &machine, &seen),
            None => decoder.address(env, &machine, actor, None),
        });
    })
}

fn word(end: FoldEnd) -> Atom {
    match end {
        FoldEnd::More => names::more_left(),
        FoldEnd::Elsewhere => names::busy(),
        FoldEnd::Done => names::ended(),
    }
}

fn part<'a>(env: Env<'a>, list: Vec<Term<'a>>, place: &FoldPlace, end: Atom) -> Term<'a> {
    let bytes = place.words().map(u64::to_ne_bytes);
    (list, make::bytes(env, bytes.as_flattened()), end).encode(env)
}
