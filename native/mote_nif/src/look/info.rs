//! The information of a machine about itself.
use crate::held::machine::{MachineResource, Unfinished};
use crate::term::atoms::{self, names};
use mote_vm::base::counters::Counts;
use mote_vm::machine::{Info, SponsorInfo, Tier};
use rustler::types::atom::Atom;
use rustler::{Encoder, Env, Term};

/// `%{counters: %{…}, memory: %{…}, gc: %{…}, sponsors: %{…}, …}`
pub fn machine<'a>(
    env: Env<'a>,
    resource: &MachineResource,
    info: &Info,
    paused: bool,
) -> Term<'a> {
    let queue_bytes: usize = info.sponsors.iter().map(|s| s.queue_bytes).sum();
    let inbox: usize = info.sponsors.iter().map(|s| s.inbox).sum();
    // What lives was counted at another moment than the rest.
    let live = info.gc.live_bytes.min(info.heap_bytes);
    let new = info.new_bytes.min(info.heap_bytes - live);
    let memory = [
        ("heap", info.heap_bytes.encode(env)),
        ("live", live.encode(env)),
        ("new", new.encode(env)),
        ("holes", (info.heap_bytes - live - new).encode(env)),
        ("spare", info.spare_bytes.encode(env)),
        ("charged", info.charged_bytes.encode(env)),
        ("mapped", info.mapped_bytes.encode(env)),
        ("queues", queue_bytes.encode(env)),
    ];
    let pauses: Vec<_> = info
        .gc
        .pauses
        .entries()
        .map(|(below, count)| (below.encode(env), count.encode(env)))
        .collect();
    let gc = [
        ("collections", info.gc.collections.encode(env)),
        ("last_pause", info.gc.last_pause_ns.encode(env)),
        ("longest_pause", info.gc.longest_pause_ns.encode(env)),
        ("longest_wait", info.gc.longest_wait_ns.encode(env)),
        ("paused", info.gc.paused_ns.encode(env)),
        ("pauses", pairs(env, &pauses)),
        ("live_actors", info.gc.live_actors.encode(env)),
        ("live_bytes", info.gc.live_bytes.encode(env)),
        ("reclaimed", info.gc.reclaimed_bytes.encode(env)),
    ];
    let tier = match info.native.tier {
        Tier::Native => names::native(),
        Tier::Interpreter => names::interp(),
    };
    let native = [
        ("tier", tier.encode(env)),
        ("pending", info.native.pending.encode(env)),
        ("compiled", info.native.compiled.encode(env)),
        ("refused", info.native.refused.encode(env)),
        ("bytes", info.native.code_bytes.encode(env)),
        ("compile", info.native.compile_ns.encode(env)),
        (
            "longest_compile",
            info.native.longest_compile_ns.encode(env),
        ),
    ];
    let sponsors: Vec<_> = info
        .sponsors
        .iter()
        .map(|one| (atoms::to_term(env, one.name), sponsor(env, resource, one)))
        .collect();
    let uptime = resource.started.elapsed().as_millis() as u64;
    let (open, broken) = resource.questions.counts();
    let questions = [("open", open.encode(env)), ("broken", broken.encode(env))];
    map(
        env,
        &[
            ("counters", counters(env, &info.counts())),
            ("memory", map(env, &memory)),
            ("gc", map(env, &gc)),
            ("native", map(env, &native)),
            ("sponsors", pairs(env, &sponsors)),
            ("inbox", inbox.encode(env)),
            ("mail", resource.mail.waiting().encode(env)),
            ("references", info.handles.encode(env)),
            ("questions", map(env, &questions)),
            ("paused", paused.encode(env)),
            ("uptime", uptime.encode(env)),
        ],
    )
}

/// `%{started: ns, threads: [%{…}], …}`
pub fn sponsor<'a>(env: Env<'a>, resource: &MachineResource, info: &SponsorInfo) -> Term<'a> {
    let started = info.started.saturating_duration_since(resource.started);
    let threads: Vec<_> = info
        .threads
        .iter()
        .map(|counts| counters(env, counts))
        .collect();
    let beam = resource.known_desk(info.name);
    let (running, at_desk, longest) = beam.as_ref().map(|desk| desk.look()).unwrap_or_default();
    let timeout = beam.as_ref().map(|desk| match desk.timeout() {
        Some(timeout) => (timeout.as_millis() as u64).encode(env),
        None => names::infinity().encode(env),
    });
    let longest = longest.map(|(module, name, age)| {
        let behaviour = [module, name].map(|atom| atoms::to_term(env, atom));
        let about = [
            ("behaviour", (behaviour[0], behaviour[1]).encode(env)),
            ("age", (age.as_millis() as u64).encode(env)),
        ];
        map(env, &about)
    });
    let net = info.net.map(|counts| {
        let mut all = Vec::new();
        counts.each(|name, count| all.push((name, count.encode(env))));
        map(env, &all)
    });
    map(
        env,
        &[
            ("net", net.encode(env)),
            ("beam", beam.is_some().encode(env)),
            ("timeout", timeout.encode(env)),
            ("running", running.encode(env)),
            ("longest", longest.encode(env)),
            ("started", (started.as_nanos() as u64).encode(env)),
            ("threads", threads.encode(env)),
            ("asleep", info.asleep.encode(env)),
            ("inbox", info.inbox.encode(env)),
            ("waiting", (info.waiting + at_desk).encode(env)),
            ("held", info.held.encode(env)),
            ("high_water", info.high_water.encode(env)),
            ("overloaded", info.overloaded.encode(env)),
            ("queued", info.queued.encode(env)),
            ("queue_bytes", info.queue_bytes.encode(env)),
        ],
    )
}

/// `{events, turns, letters, timers, questions}`
pub fn unfinished<'a>(env: Env<'a>, left: &Unfinished) -> Term<'a> {
    (
        left.events,
        left.turns,
        left.letters,
        left.timers,
        left.questions,
    )
        .encode(env)
}

fn counters<'a>(env: Env<'a>, counts: &Counts) -> Term<'a> {
    let counters: Vec<_> = counts
        .entries()
        .into_iter()
        .map(|(name, value)| (name, value.encode(env)))
        .collect();
    map(env, &counters)
}

fn map<'a>(env: Env<'a>, entries: &[(&str, Term<'a>)]) -> Term<'a> {
    let entries: Vec<_> = entries
        .iter()
        .filter_map(|(name, value)| Some((Atom::from_str(env, name).ok()?.to_term(env), *value)))
        .collect();
    pairs(env, &entries)
}

/// A map of distinct keys.
fn pairs<'a>(env: Env<'a>, entries: &[(Term<'a>, Term<'a>)]) -> Term<'a> {
    Term::map_from_pairs(env, entries).unwrap_or_else(|_| Term::map_new(env))
}
