//! The questions to a search through orders of turns, and its findings.
use crate::held::handle::parse_key;
use crate::term::atoms::names;
use mote_vm::prove::{
    Allowed, Finding, FindingKind, LeftOut, Limits, Progress, SearchCounts, SearchPlan,
};
use rustler::{Atom, Encoder, Env, Term};

/// States, depth, bytes; whether messages have an order, how many threads look, whether the search is reduced; and the findings that
/// are no failures.
pub type LimitsTerm = (u64, u32, u64, bool, usize, bool, Vec<Atom>);

/// The keys of actors that are looked at after each turn; by which the caller tells goals; whose messages get lost; whose messages
/// come twice; and whose turns are aborted.
pub type ActorsTerm<'a> = (
    Vec<Term<'a>>,
    Vec<Term<'a>>,
    Vec<Term<'a>>,
    Vec<Term<'a>>,
    Vec<Term<'a>>,
);

/// The plan of a search with these actors; none if one of them is no key.
pub fn plan(
    (states, depth, bytes, ordered, threads, reduces, allowed): LimitsTerm,
    (watched, goals, lost, twice, aborted): &ActorsTerm<'_>,
) -> Option<SearchPlan> {
    let is_allowed = |what: &FindingKind| allowed.contains(&what_name(*what));
    let limits = Limits {
        states,
        depth,
        bytes,
        ordered,
        threads,
        reduces,
    };
    let all = [
        FindingKind::Aborted,
        FindingKind::Ignored,
        FindingKind::Dropped,
        FindingKind::AnsweredAgain,
        FindingKind::Unanswered,
        FindingKind::Stashed,
    ];
    let allowed = all.into_iter().filter(is_allowed).collect();
    let keys = |actors: &[Term<'_>]| -> Option<Vec<_>> {
        actors.iter().map(|key| parse_key(*key)).collect()
    };
    Some(SearchPlan {
        limits,
        allowed: Allowed(allowed),
        watched: keys(watched)?,
        goals: keys(goals)?,
        faults: [keys(lost)?, keys(twice)?, keys(aborted)?],
    })
}

/// `{over, {states, turns, ends, orders, bytes}, [{what, order}], [left_out]}`.
pub fn progress<'a>(env: Env<'a>, search: Term<'a>, progress: &Progress) -> Term<'a> {
    let SearchCounts {
        states,
        turns,
        ends,
        orders,
        bytes,
    } = progress.counts;
    // Its text: a number of the BEAM may be larger than any that a NIF makes.
    let orders = orders.map(|orders| orders.to_string());
    let found: Vec<_> = progress.found.iter().map(finding).collect();
    let left_out: Vec<_> = progress
        .left_out
        .iter()
        .map(|what| left_out(*what))
        .collect();
    let counts = (states, turns, ends, orders, bytes);
    (search, progress.is_over, counts, found, left_out).encode(env)
}

fn finding(Finding { what, order }: &Finding) -> (Atom, Vec<u32>) {
    (what_name(*what), order.clone())
}

fn what_name(what: FindingKind) -> Atom {
    match what {
        FindingKind::View => names::always(),
        FindingKind::Goal => names::goal(),
        FindingKind::Never => names::eventually(),
        FindingKind::Rest => names::rest(),
        FindingKind::Aborted => names::was_aborted(),
        FindingKind::Ignored => names::ignored(),
        FindingKind::Dropped => names::was_dropped(),
        FindingKind::AnsweredAgain => names::answered_again(),
        FindingKind::Unanswered => names::unanswered(),
        FindingKind::Stashed => names::stashed(),
    }
}

fn left_out(what: LeftOut) -> Atom {
    match what {
        LeftOut::States => names::states(),
        LeftOut::Depth => names::depth(),
        LeftOut::Memory => names::memory(),
        LeftOut::Size => names::size(),
        LeftOut::Timers => names::timers(),
        LeftOut::Random => names::random(),
        LeftOut::Clock => names::clock(),
    }
}
