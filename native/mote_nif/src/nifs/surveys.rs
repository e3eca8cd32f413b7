//! Looking inside of a machine.
use crate::codec::budget::WriteMode;
use crate::deliver::message::post;
use crate::enter::question::{inquiry, inquiry_about};
use crate::enter::target::Addressee;
use crate::held::aside::aside;
use crate::held::handle::parse_key;
use crate::held::machine::MachineResource;
use crate::held::question::Asker;
use crate::look::fold;
use crate::look::peek::{entries_within, peek_entries_within, peek_entry_within, peek_within};
use crate::look::survey::{behaviour, figures, graph, show, survey, waiting};
use crate::term::atoms::{names, Name};
use crate::term::resource::{self, ResourceArc};
use rustler::{Binary, Encoder, Env, Term};
use std::time::{Duration, Instant};

/// `[{address, behaviour, events}]` of the actors that most events wait for. As all that follow: the asker's side of a
/// question of the calling process, or `:stopped`.
#[rustler::nif]
fn machine_awaited<'a>(env: Env<'a>, machine: Term<'a>, n: usize, tag: Term<'a>) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        figures(env, decoder, survey.machine(), &survey.most_awaited(n))
    })
}

/// `{[{behaviour, actors, bytes, older}], [{address, behaviour, bytes}]}`: what there is, how many actors have an older version than
/// the one that is loaded, and the `n` that hold most.
#[rustler::nif]
fn machine_census<'a>(env: Env<'a>, machine: Term<'a>, n: usize, tag: Term<'a>) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        let census = survey.census(n);
        let populations: Vec<_> = census
            .populations
            .iter()
            .map(|found| {
                let older = found.actors * u64::from(found.is_older);
                (
                    behaviour(env, found.behaviour),
                    found.actors,
                    found.bytes,
                    older,
                )
            })
            .collect();
        let greatest = figures(env, decoder, survey.machine(), &census.greatest);
        (populations, greatest).encode(env)
    })
}

/// `[{address, behaviour, bytes}]` of the sockets by which most bytes have come, or have gone.
#[rustler::nif]
fn machine_sockets<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    n: usize,
    out: bool,
    tag: Term<'a>,
) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        let busiest = survey.busiest_sockets(n, out);
        figures(env, decoder, survey.machine(), &busiest)
    })
}

/// Lists the actors that keep the customers of open questions, or of the question of `asker`: `[{address, behaviour, held, process,
/// milliseconds}]`. Those that have waited longest come first, `n` at most.
#[rustler::nif]
fn machine_waiting<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    asker: Term<'a>,
    n: usize,
    tag: Term<'a>,
) -> Term<'a> {
    let asker: Option<&Asker> = resource::get(asker);
    let question = asker.map(|asker| asker.question().clone());
    survey(env, machine, tag, move |env, decoder, survey| {
        waiting(env, decoder, survey, question.as_ref(), n)
    })
}

/// Counts turns from now on, for that many milliseconds at most: `:ok`.
#[rustler::nif]
fn machine_watch<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    id: u64,
    milliseconds: u64,
    tag: Term<'a>,
) -> Term<'a> {
    survey(env, machine, tag, move |env, _, survey| {
        let until = Instant::now() + Duration::from_millis(milliseconds);
        survey.begin_watch(id, until);
        names::ok().encode(env)
    })
}

/// Ends that: `{turns, lost, [{behaviour, turns}], [{address, behaviour, turns}]}`.
#[rustler::nif]
fn machine_watched<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    id: u64,
    n: usize,
    tag: Term<'a>,
) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        let machine = survey.machine().clone();
        let counted = survey.end_watch(id, n);
        let behaviours: Vec<_> = counted
            .behaviours
            .iter()
            .map(|(name, turns)| (behaviour(env, *name), *turns))
            .collect();
        let actors = figures(env, decoder, &machine, &counted.actors);
        (counted.turns, counted.lost, behaviours, actors).encode(env)
    })
}

/// `{[{address, behaviour}], [{from, capture, to}], truncated}` of what can be reached from an actor, or why not.
#[rustler::nif]
fn actor_graph<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    depth: usize,
    limit: usize,
    tag: Term<'a>,
) -> Term<'a> {
    if let Err(word) = Addressee::look_at(machine, key) {
        return word.encode(env);
    }
    let Some(key) = parse_key(key) else {
        return names::unknown().encode(env);
    };
    survey(env, machine, tag, move |env, decoder, survey| {
        let Some(found) = survey.graph(key, depth, limit) else {
            return names::unknown().encode(env);
        };
        graph(env, decoder, survey.machine(), &found)
    })
}

/// Asks the machine what an actor is: the answer is `{behaviour, {sponsor, thread}, pinned, {queued, bytes,
/// complete}}`.
#[rustler::nif]
fn actor_info<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>, tag: Term<'a>) -> Term<'a> {
    inquiry_about(env, (machine, key), tag, |target, customer| {
        target.inspect(Box::new(move |machine, seen| {
            show(&customer, machine, seen)
        }))
    })
}

plain_nif! {
    /// `{name, capture, ...}` of an actor as of its last commit; `:busy` if that cannot be seen at once, and `actor_info` can be asked;
    /// `:stopped`, `:unknown`.
    peek as "peek" (machine: Term<'a>, key: Term<'a>) |env| peek_within(env, (machine, key))
}

plain_nif! {
    /// Peeks at the actor that a shard of a directory has for a key. Also returns `nil` if it has none, `:big`, `:long` or `:no_memory`.
    peek_entry as "peek" (machine: Term<'a>, shard: Term<'a>, entry: Term<'a>) |env| {
        peek_entry_within(env, (machine, shard), entry)
    }
}

plain_nif! {
    /// `{[{key, {name, capture, ...}}], more}`: actors of a shard whose keys come after the one in the list `after`, or the first ones;
    /// `nil` in place of what cannot be seen at once. Otherwise as `peek`.
    peek_entries as "peek_entries" (machine: Term<'a>, shard: Term<'a>, after: Term<'a>) |env| {
        peek_entries_within(env, (machine, shard), after)
    }
}

in_three_forms! {
    /// Asks the shard's thread for these. Otherwise as `actor_info`; also `:big`, `:long` or `:no_memory`.
    inspect_entries, inspect_entries_again, inspect_entries_big as "inspect_entries" (
        machine: Term<'a>,
        shard: Term<'a>,
        after: Term<'a>,
        tag: Term<'a>
    ) |env, mode| entries_within(env, (machine, shard), after, tag, mode)
}

plain_nif! {
    /// `{[{name, capture, ...}], place, end}`: actors from a place on, `""` being the first one; an address in place of what cannot be seen
    /// at once. The end is `:ended`, `:more` if there are more, or `:busy` if `fold_there` has to be asked. Otherwise `:stopped`.
    fold_here as "fold_here" (machine: Term<'a>, place: Binary<'a>, module: Name, name: Name) |env| {
        fold::fold_here(env, (machine, place, module, name))
    }
}

plain_nif! {
    /// Asks for the same; if `:standing` is the end, once more with `still`. Otherwise as `actor_info`.
    fold_there as "fold_there" (
        machine: Term<'a>,
        place: Binary<'a>,
        module: Name,
        name: Name,
        still: bool,
        tag: Term<'a>
    ) |env| fold::fold_there(env, (machine, place, module, name), still, tag)
}

/// Collects: the answer, when it is done, is `:ok`. Otherwise as `actor_info`.
#[rustler::nif]
fn machine_collect<'a>(env: Env<'a>, machine: Term<'a>, tag: Term<'a>) -> Term<'a> {
    let running = resource::get(machine).and_then(MachineResource::running);
    let Some(running) = running else {
        return names::stopped().encode(env);
    };
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let done = move || {
            if customer.claim() {
                post(customer.pid(), |env, _| {
                    customer.tagged(env, names::ok().encode(env))
                });
            }
        };
        match machine.decode::<ResourceArc<MachineResource>>() {
            // What has ended before is to be found dead.
            Ok(resource) if running.is_unsettled() => aside(move || {
                if let Some(machine) = resource.running() {
                    machine.settle();
                    machine.collect(done);
                }
            }),
            _ => running.collect(done),
        }
        Ok(())
    })
}
