//! Peeks: the state of an actor as of its last commit, as the result of the call; and the states of the actors of a
//! shard.
use crate::codec::budget::{self, Unwritten, WriteMode};
use crate::codec::decode::Decoder;
use crate::codec::encode::Writer;
use crate::deliver::mail::tell;
use crate::enter::question::inquiry_about;
use crate::enter::target::Addressee;
use crate::term::assembly::tuple_of;
use crate::term::atoms::{self, names};
use crate::term::read::list_cell;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::look::entries::ShardEntries;
use mote_vm::look::peek::{Peek, SeenState};
use mote_vm::machine::Machine;
use rustler::{Atom, Encoder, Env, Term};

/// Captures whose tuple needs no allocation.
const FEW: usize = 8;

/// The name of the behaviour and what it has captured, in one tuple, or why that cannot be seen at once.
pub fn peek_within<'a>(env: Env<'a>, (machine, key): (Term<'a>, Term<'a>)) -> Term<'a> {
    at(env, (machine, key), |target| look(env, target, None))
}

/// Peeks at the actor that a shard has for a key, as [`peek_within`] does.
pub fn peek_entry_within<'a>(
    env: Env<'a>,
    shard: (Term<'a>, Term<'a>),
    entry: Term<'a>,
) -> Term<'a> {
    at(env, shard, |target| {
        let entry = write(env, target, entry, WriteMode::first())?;
        look(env, target, Some(entry))
    })
}

/// Looks at an actor by `look`. Returns what is seen, or why nothing is.
fn at<'a>(
    env: Env<'a>,
    (machine, key): (Term<'a>, Term<'a>),
    look: impl FnOnce(&Addressee<'a>) -> Result<Term<'a>, Atom>,
) -> Term<'a> {
    let seen = Addressee::look_at(machine, key).and_then(|target| look(&target));
    seen.unwrap_or_else(|word| word.encode(env))
}

fn look<'a>(env: Env<'a>, target: &Addressee<'_>, entry: Option<Parcel>) -> Result<Term<'a>, Atom> {
    let machine = target.machine;
    let seen = machine.glimpse(target.key, entry, |seen| {
        state(env, &mut Decoder::default(), machine, &seen)
    });
    outcome(seen)
}

/// Shows the entries of a shard that come after the key in the list `after`, or the first ones, as `{[{key, state}], more}`; the state
/// is `nil` where it cannot be seen at once. Otherwise returns why there are none.
pub fn peek_entries_within<'a>(
    env: Env<'a>,
    shard: (Term<'a>, Term<'a>),
    after: Term<'a>,
) -> Term<'a> {
    at(env, shard, |target| {
        let after = begin(env, target, after, WriteMode::first())?;
        let mut decoder = Decoder::default();
        let seen = target
            .machine
            .glimpse_entries(target.key, after, |entries| {
                shown(env, &mut decoder, entries)
            });
        budget::spent(env, decoder.nodes());
        outcome(seen)
    })
}

/// Asks the thread of a shard to show them.
pub fn entries_within<'a>(
    env: Env<'a>,
    shard: (Term<'a>, Term<'a>),
    after: Term<'a>,
    tag: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    inquiry_about(env, shard, tag, |target, customer| {
        let after = begin(env, &target, after, mode)?;
        let look = move |entries: &mut ShardEntries<'_>| {
            if customer.claim() {
                tell(&entries.machine(), customer.pid(), |env, decoder| {
                    customer.tagged(env, shown(env, decoder, entries))
                });
            }
        };
        let machine = target.machine;
        match machine.inspect_entries(target.key, after, Box::new(look)) {
            true => Ok(()),
            false => Err(names::unknown()),
        }
    })
}

fn outcome(seen: Peek<Term<'_>>) -> Result<Term<'_>, Atom> {
    match seen {
        Peek::Seen(term) => Ok(term),
        Peek::Busy => Err(names::busy()),
        Peek::Absent => Err(names::nil()),
        Peek::Unknown => Err(names::unknown()),
    }
}

fn begin<'a>(
    env: Env<'a>,
    target: &Addressee<'_>,
    after: Term<'a>,
    mode: WriteMode<'a>,
) -> Result<Option<Parcel>, Unwritten> {
    let key = list_cell(after).map(|(key, _)| write(env, target, key, mode));
    key.transpose()
}

fn write<'a>(
    env: Env<'a>,
    target: &Addressee<'_>,
    key: Term<'a>,
    mode: WriteMode<'a>,
) -> Result<Parcel, Unwritten> {
    let mut writer = Writer::new(target.resource, target.machine, mode);
    writer.term(key)?;
    writer.count_spent(env);
    Ok(writer.builder.finish())
}

fn shown<'a>(env: Env<'a>, decoder: &mut Decoder, entries: &mut ShardEntries<'_>) -> Term<'a> {
    let machine = entries.machine();
    let mut list = Vec::new();
    let more = entries.each(|key, seen| {
        let key = decoder.term(env, &machine, key);
        let seen = seen.map(|seen| state(env, decoder, &machine, &seen));
        list.push((key, seen).encode(env));
    });
    (list, more).encode(env)
}

/// The name of the behaviour and what it has captured, in one tuple.
pub fn state<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    machine: &Machine,
    seen: &SeenState<'_>,
) -> Term<'a> {
    let captures = &seen.captures;
    let name = atoms::to_term(env, seen.behaviour.written).as_c_arg();
    let (mut few, mut many) = ([name; FEW + 1], Vec::new());
    let parts = match captures.len() {
        ..=FEW => &mut few[..=captures.len()],
        count => {
            many.resize(count + 1, name);
            &mut many[..]
        }
    };
    for (part, capture) in parts[1..].iter_mut().zip(captures) {
        *part = decoder.term(env, machine, *capture).as_c_arg();
    }
    // SAFETY: made in `env` just now.
    unsafe { Term::new(env, tuple_of(env, parts)) }
}
