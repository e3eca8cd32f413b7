//! Imports go downwards: from a folder to those that lib.rs names before it, and to none that it names after it.
//!
//! What an import is, sources.rs says: tests are left out, and may use anything. Methods that a folder above adds to a type
//! of a folder below count as well when they are called by name, where no other function has that name.
#[path = "support/sources.rs"]
mod sources;

use sources::{Arrows, Module, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The arrows upwards that there still are, from file to file. This list only shrinks.
const UPWARDS: &[(&str, &str)] = &[
    // A value of the outside is given the machine when it takes a message.
    ("values/foreign", "machine"),
    // After a batch a thread collects a little, stays where the machine is paused, and shows who traces it what its turns
    // did: how is for gc and look to know.
    ("threads/thread", "gc"),
    ("threads/thread/idle", "gc"),
    ("threads/thread", "look/pause"),
    ("threads/watched", "look/trace"),
    // `Machine` owns what threads, gc and look work with, and they find it there.
    ("threads/away", "machine/contract"),
    ("threads/inbox", "machine/contract"),
    ("threads/place", "machine"),
    ("threads/seeded/scheduler", "machine"),
    ("threads/stand_in", "machine"),
    ("gc/cycle", "machine"),
    ("gc/roots", "machine"),
    ("look/inspect", "machine/contract"),
    ("look/pause", "machine"),
    ("look/survey", "machine"),
    ("look/trace", "machine"),
    ("look/waiting", "machine"),
];

/// As many files of a folder may import each other in one circle.
const LARGEST_CIRCLE: usize = 8;

fn sources() -> Sources {
    Sources::below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// The crate that embeds this one, where there is more than this one.
fn sources_of_the_nif() -> Option<Sources> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mote_nif/src");
    path.exists().then(|| Sources::below(&path))
}

fn name(module: &[String]) -> String {
    module.join("/")
}

/// The arrows that lead from a folder to one that comes later.
fn upwards(sources: &Sources) -> BTreeMap<(String, String), String> {
    let layers = sources.layers();
    let layer = |module: &Module| {
        layers
            .iter()
            .position(|layer| module.first() == Some(layer))
    };
    let mut found: BTreeMap<_, String> = BTreeMap::new();
    let mut add = |arrows: Arrows, verb: &str| {
        for ((from, to), names) in arrows {
            if let (Some(lower), Some(upper)) = (layer(&from), layer(&to)) {
                if lower < upper {
                    let names: Vec<_> = names.into_iter().collect();
                    let said = format!("{verb} {}", names.join(", "));
                    let arrow = found.entry((name(&from), name(&to))).or_default();
                    *arrow = [&arrow[..], &said].join(if arrow.is_empty() { "" } else { " and " });
                }
            }
        }
    };
    add(sources.calls_of_methods(), "calls");
    add(sources.imports(), "imports");
    found
}

#[test]
fn imports_go_down() {
    let found = upwards(&sources());
    let known: BTreeSet<_> = UPWARDS
        .iter()
        .map(|(from, to)| (from.to_string(), to.to_string()))
        .collect();
    let mut wrong = Vec::new();
    for ((from, to), what) in &found {
        if !known.contains(&(from.clone(), to.clone())) {
            wrong.push(format!("{from} {what} of {to}, which lies above it"));
        }
    }
    for (from, to) in &known {
        if !found.contains_key(&(from.clone(), to.clone())) {
            wrong.push(format!(
                "{from} takes nothing of {to} any more: strike it off the list"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn imports_of_the_nif_go_down() {
    let found = sources_of_the_nif().map(|sources| upwards(&sources));
    let wrong: Vec<_> = found.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "these lead upwards: {wrong:#?}");
}

#[test]
fn no_circle_is_large() {
    for sources in [Some(sources()), sources_of_the_nif()]
        .into_iter()
        .flatten()
    {
        circles_are_small(&sources);
    }
}

fn circles_are_small(sources: &Sources) {
    let arrows = sources.imports();
    let mut large = Vec::new();
    for layer in sources.layers() {
        let inside: Vec<&Module> = sources
            .modules()
            .filter(|module| module.first() == Some(&layer))
            .collect();
        let circle = largest_circle(&inside, &arrows);
        if circle.len() > LARGEST_CIRCLE {
            let names: Vec<_> = circle.iter().map(|module| name(module)).collect();
            large.push(names.join(", "));
        }
    }
    assert!(
        large.is_empty(),
        "these import each other:\n{}",
        large.join("\n")
    );
}

/// The most files of which each reaches each other by imports.
fn largest_circle<'a>(inside: &[&'a Module], arrows: &Arrows) -> Vec<&'a Module> {
    let reached: Vec<BTreeSet<&Module>> = inside
        .iter()
        .map(|from| reached_from(from, inside, arrows))
        .collect();
    let circle_of = |i: usize| -> Vec<&'a Module> {
        let both = |j: &usize| reached[i].contains(inside[*j]) && reached[*j].contains(inside[i]);
        (0..inside.len()).filter(both).map(|j| inside[j]).collect()
    };
    let circles = (0..inside.len()).map(circle_of);
    circles.max_by_key(Vec::len).unwrap_or_default()
}

fn reached_from<'a>(
    from: &'a Module,
    inside: &[&'a Module],
    arrows: &Arrows,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for to in inside {
            if arrows.contains_key(&(module.clone(), (*to).clone())) && reached.insert(*to) {
                next.push(to);
            }
        }
    }
    reached
}

/// The parser sees what it is there for.
#[test]
fn imports_are_found() {
    let arrows = sources().imports();
    let has = |from: &str, to: &str, what: &str| {
        let split = |path: &str| path.split('/').map(str::to_string).collect::<Module>();
        let names = arrows.get(&(split(from), split(to)));
        names.is_some_and(|names| names.contains(what))
    };
    // By a `use`, by a path in the text, from a parent, and by a re-export.
    assert!(has("threads/station", "base/quota", "Quota"));
    assert!(has("terms/prim/compare", "base/work", "Work"));
    assert!(has("terms/map/walk", "terms/map", "Node"));
    assert!(has("look/inspect", "machine/contract", "Look"));
    // By tests only.
    assert!(!has("base/quota", "boundary/timers", "Timers"));
}
