//! Imports go downwards: from a folder to those that lib.rs names before it, and to none that it names after it.
//!
//! sources.rs says what an import is: tests are left out, and may use anything. A call of a method that a folder above adds
//! to a type of a folder below counts as well, where no other function has its name, or where the type calls it itself. Files
//! that import each other in a circle are few, and of one folder. Of circles only imports count: a type whose methods stand in
//! several files calls them to and fro.
#[path = "support/sources.rs"]
mod sources;

use sources::{Arrows, Module, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The arrows that lead upwards, from file to file, by calls of methods: no import does. After a batch, and before it
/// sleeps, a thread collects a little. What it drains from its inbox it shows to a collection that is under way. A
/// collection stops all threads and reads their state, so it lies above them. What a thread does for it has to be called
/// from the loop of turns: a hook in between would hide the arrow and not remove it.
const UPWARDS: &[(&str, &str)] = &[
    ("threads/thread", "gc"),
    ("threads/thread/ending", "gc"),
    ("threads/thread/idle", "gc"),
    ("threads/thread/intake", "gc"),
];

/// The most files that may import each other in one circle, all of one folder.
const LARGEST_CIRCLE: usize = 7;

fn sources() -> Sources {
    Sources::below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// The crates above this one, where there is more than this one.
fn sources_above() -> impl Iterator<Item = Sources> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let paths = ["mote_jit", "mote_nif"].map(|name| beside.join(name).join("src"));
    let there = paths.into_iter().filter(|path| path.exists());
    there.map(|path| Sources::below(&path))
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
fn imports_of_the_crates_above_go_down() {
    let wrong: Vec<_> = sources_above().flat_map(|s| upwards(&s)).collect();
    assert!(wrong.is_empty(), "these lead upwards: {wrong:#?}");
}

/// The folder of the functions that Elixir calls holds nothing else.
#[test]
fn nifs_are_nothing_but_nifs() {
    let sources: Vec<_> = sources_above().collect();
    let others: Vec<_> = sources
        .iter()
        .flat_map(|sources| sources.items())
        .filter(|(module, ..)| module.first().is_some_and(|folder| folder == "nifs"))
        .filter(|(_, item, _)| *item != "fn")
        .map(|(module, item, what)| format!("{}: {item} {what}", name(module)))
        .collect();
    assert!(others.is_empty(), "elsewhere with these: {others:#?}");
}

/// Checks that the files of `nifs` have no functions that Elixir does not call.
#[test]
fn functions_of_nifs_are_nifs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mote_nif/src/nifs");
    // Of a crate that stands alone there are none.
    let Ok(files) = std::fs::read_dir(folder) else {
        return;
    };
    let mut seen = 0;
    for file in files {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a source");
        let mut before = "";
        for line in text.lines() {
            if line.starts_with("fn ") || line.starts_with("pub fn ") {
                let nif = before.starts_with("#[rustler::nif") || before == ")]";
                assert!(nif, "elsewhere with this: {}: {line}", path.display());
                seen += 1;
            }
            before = line;
        }
    }
    assert!(seen > 0);
}

/// Checks that each type name means one thing in all crates.
#[test]
fn names_of_types_mean_one_thing() {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (number, sources) in sources_above().chain([sources()]).enumerate() {
        for (module, what) in sources.types() {
            let file = format!("{number}:{}", name(module));
            named.entry(what.to_string()).or_default().insert(file);
        }
    }
    named.retain(|_, files| files.len() > 1);
    assert!(named.is_empty(), "these names mean two things: {named:#?}");
}

/// The machine is built without its compiler, and the compiler without the BEAM: by what their manifests name, also for
/// tests.
#[test]
fn crates_depend_on_those_below() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let above = [
        ("mote_vm", &["mote_", "cranelift", "rustler"][..]),
        ("mote_jit", &["mote_nif", "mote_plot", "rustler"]),
    ];
    for (name, above) in above {
        let manifest = beside.join(name).join("Cargo.toml");
        // Where there is no more than this one.
        let Ok(manifest) = std::fs::read_to_string(manifest) else {
            continue;
        };
        let (_, dependencies) = manifest.split_once("dependencies]").expect("some");
        let wrong = dependencies
            .lines()
            .find(|line| above.iter().any(|above| line.starts_with(above)));
        assert_eq!(wrong, None, "in the manifest of {name}");
    }
}

#[test]
fn no_circle_is_large_or_leaves_its_folder() {
    let circles = sources_above().chain([sources()]).flat_map(|sources| {
        let arrows = sources.imports();
        circles(&arrows)
    });
    let folder = |module: &Module| module.first().cloned();
    let wrong = |circle: &Vec<Module>| {
        let leaves = circle.iter().any(|m| folder(m) != folder(&circle[0]));
        leaves || circle.len() > LARGEST_CIRCLE
    };
    let wrong: Vec<_> = circles
        .filter(wrong)
        .map(|circle| {
            let names: Vec<_> = circle.iter().map(|module| name(module)).collect();
            names.join(", ")
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "these import each other:\n{}",
        wrong.join("\n")
    );
}

/// The sets of files of which each reaches each other by imports.
fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let mut imports: BTreeMap<&Module, Vec<&Module>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        imports.entry(from).or_default().push(to);
    }
    let reached = |from: &Module| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(module) = next.pop() {
            for to in imports.get(module).into_iter().flatten() {
                if reached.insert((*to).clone()) {
                    next.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|from| (*from, reached(from))).collect();
    let mut circles = Vec::new();
    for (from, all) in &reached {
        let back = |to: &&Module| reached.get(to).is_some_and(|all| all.contains(*from));
        let circle: Vec<Module> = all.iter().filter(back).cloned().collect();
        if circle.first() == Some(from) {
            circles.push(circle);
        }
    }
    circles
}

/// The parser sees what it is there for.
fn has(arrows: &Arrows, from: &str, to: &str, what: &str) -> bool {
    let split = |path: &str| path.split('/').map(str::to_string).collect::<Module>();
    let names = arrows.get(&(split(from), split(to)));
    names.is_some_and(|names| names.contains(what))
}

#[test]
fn imports_are_found() {
    let arrows = sources().imports();
    let has = |from: &str, to: &str, what: &str| has(&arrows, from, to, what);
    // By a `use`, by a path in the text, from a parent, and by way of a re-export.
    assert!(has("threads/station", "base/quota", "Quota"));
    assert!(has("terms/prim/compare", "base/work", "Work"));
    assert!(has("terms/map/walk", "terms/map", "Node"));
    assert!(has("machine/outside", "look/inspect", "Look"));
    // By a re-export, but for that of a folder's head.
    assert!(has("machine/contract", "turns/abort", "Abort"));
    assert!(!has("threads/inbox", "threads/inbox/contents", "Done"));
    // By tests only.
    assert!(!has("base/quota", "boundary/timers", "Timers"));
}

#[test]
fn calls_of_methods_are_found() {
    let arrows = sources().calls_of_methods();
    let has = |from: &str, to: &str, what: &str| has(&arrows, from, to, what);
    // By a name that no other function has; of `self`, by one that others have as well.
    assert!(has("threads/thread/idle", "gc", "collect_a_little"));
    assert!(has("machine/time", "machine/outside", "hold"));
}
