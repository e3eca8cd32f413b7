//! What the files of a crate import from each other, found in their text.
//!
//! Counted are `use` trees and paths that begin with `crate`, `super` or `self`. A name that is re-exported is followed to
//! the file that defines it. A folder's head that re-exports what is below it imports nothing, as little as by `mod`: it
//! does not depend on what it lists. Any other re-export is an import.
//! What only tests are built with (`#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`) is left out: tests may use anything.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// A module, by its path within the crate: `["heap", "cell"]`.
pub type Module = Vec<String>;

/// The imports between files, with the names that are imported.
pub type Arrows = BTreeMap<(Module, Module), BTreeSet<String>>;

/// The words that begin an item with a name.
const ITEMS: [&str; 7] = ["struct", "enum", "trait", "type", "fn", "const", "static"];

/// The text of a crate without comments and tests.
pub struct Sources {
    tokens: BTreeMap<Module, Vec<String>>,
    uses: BTreeMap<Module, Vec<Use>>,
}

/// One name that a `use` brings.
struct Use {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

impl Sources {
    /// Reads all files below a folder.
    pub fn below(src: &Path) -> Sources {
        let mut texts = BTreeMap::new();
        read_all(src, &mut Vec::new(), &mut texts);
        let mut tokens: BTreeMap<_, _> = texts
            .into_iter()
            .map(|(module, text)| (module, tokens_of(&text)))
            .collect();
        let tests: Vec<Module> = tokens
            .iter()
            .flat_map(|(module, all)| {
                let kept = modules_named(&without_tests(all));
                let all = modules_named(all).into_iter();
                all.filter(move |name| !kept.contains(name))
                    .map(|name| child(module, &name))
            })
            .collect();
        tokens.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        for all in tokens.values_mut() {
            *all = without_tests(all);
        }
        let uses = tokens.iter().map(|(m, t)| (m.clone(), uses_of(t)));
        Sources {
            uses: uses.collect(),
            tokens,
        }
    }

    /// The crate's folders in the order in which its root names them.
    pub fn layers(&self) -> Vec<String> {
        modules_named(&self.tokens[&Module::new()])
    }

    /// The types that the files define, with their file; other names for types as well, but for those within other items.
    pub fn types(&self) -> impl Iterator<Item = (&Module, &str)> {
        self.tokens.iter().flat_map(|(module, tokens)| {
            let mut depth = 0;
            let mut defined = Vec::new();
            for pair in tokens.windows(2) {
                match pair[0].as_str() {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    "struct" | "enum" | "trait" => defined.push(pair[1].as_str()),
                    "type" if depth == 0 => defined.push(pair[1].as_str()),
                    _ => {}
                }
            }
            defined.into_iter().map(move |name| (module, name))
        })
    }

    /// Iterates over the items that the files define: the file, the kind of the item, and its name.
    pub fn items(&self) -> impl Iterator<Item = (&Module, &str, &str)> {
        self.tokens.iter().flat_map(|(module, tokens)| {
            let defined = tokens
                .windows(2)
                .filter(|pair| ITEMS.contains(&&pair[0][..]));
            defined.map(move |pair| (module, &pair[0][..], &pair[1][..]))
        })
    }

    /// Returns every import of one file from another.
    pub fn imports(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (module, tokens) in &self.tokens {
            let uses = self.uses[module].iter();
            let uses = uses.map(|u| (u.path.clone(), u.is_public));
            let paths = paths_of(tokens).into_iter().map(|path| (path, false));
            for (path, is_public) in uses.chain(paths) {
                let Some(path) = self.absolute(module, &path) else {
                    continue;
                };
                let target = self.definition(&path, &mut Vec::new());
                let is_listed = is_public && target.starts_with(module);
                if target != *module && !is_listed {
                    let name = path.last().cloned().unwrap_or_default();
                    arrows
                        .entry((module.clone(), target))
                        .or_default()
                        .insert(name);
                }
            }
        }
        arrows
    }

    /// Calls of methods that a type of a lower layer has been given by a higher one, as far as it can be told: the name is
    /// that of no other function, or a method of the type calls it of `self`.
    pub fn calls_of_methods(&self) -> Arrows {
        let mut arrows = self.calls_by_name();
        for (arrow, names) in self.calls_of_self() {
            arrows.entry(arrow).or_default().extend(names);
        }
        arrows
    }

    fn calls_by_name(&self) -> Arrows {
        let mut functions: BTreeMap<&str, BTreeSet<&Module>> = BTreeMap::new();
        let mut types: BTreeMap<&str, BTreeSet<&Module>> = BTreeMap::new();
        for (module, tokens) in &self.tokens {
            for pair in tokens.windows(2) {
                match pair[0].as_str() {
                    "fn" => functions.entry(&pair[1]).or_default().insert(module),
                    "struct" | "enum" => types.entry(&pair[1]).or_default().insert(module),
                    _ => false,
                };
            }
        }
        let mut given = BTreeMap::new();
        for (module, tokens) in &self.tokens {
            for (of, name, _) in inherent_methods(tokens) {
                let is_elsewhere = |m: &&Module| m.first() != module.first();
                let only = functions[name.as_str()].len() == 1;
                if only
                    && types
                        .get(of.as_str())
                        .is_some_and(|m| m.iter().all(is_elsewhere))
                {
                    given.insert(name, module);
                }
            }
        }
        let mut arrows = Arrows::new();
        for (module, tokens) in &self.tokens {
            for three in tokens.windows(3) {
                let is_call = three[0] == "." && three[2] == "(";
                if let (true, Some(target)) = (is_call, given.get(&three[1])) {
                    let arrow = (module.clone(), (*target).clone());
                    arrows.entry(arrow).or_default().insert(three[1].clone());
                }
            }
        }
        arrows
    }

    fn calls_of_self(&self) -> Arrows {
        let mut given: BTreeMap<(String, String), Vec<&Module>> = BTreeMap::new();
        for (module, tokens) in &self.tokens {
            for (of, name, _) in inherent_methods(tokens) {
                given.entry((of, name)).or_default().push(module);
            }
        }
        let mut arrows = Arrows::new();
        for (module, tokens) in &self.tokens {
            for (of, _, body) in inherent_methods(tokens) {
                for four in tokens[body].windows(4) {
                    if four[0] != "self" || four[1] != "." || four[3] != "(" {
                        continue;
                    }
                    let name = &four[2];
                    // Of several, one is there on one platform and the others on others.
                    for target in given.get(&(of.clone(), name.clone())).into_iter().flatten() {
                        if *target != module {
                            let arrow = (module.clone(), (*target).clone());
                            arrows.entry(arrow).or_default().insert(name.clone());
                        }
                    }
                }
            }
        }
        arrows
    }

    /// A path as it is from the root; `None` if it is one of another crate, or of what is in scope.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let (from, rest) = match path[0].as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (module, &path[1..]),
            "super" => (
                &module[..module.len().checked_sub(supers)?],
                &path[supers..],
            ),
            first if self.tokens.contains_key(&child(module, first)) => (module, path),
            _ => return None,
        };
        Some([from, rest].concat())
    }

    /// The file that defines what a path from the root names.
    fn definition(&self, path: &[String], seen: &mut Vec<Vec<String>>) -> Module {
        let known = |n: &usize| self.tokens.contains_key(&path[..*n]);
        let depth = (0..=path.len()).rev().find(known).unwrap_or(0);
        let module = path[..depth].to_vec();
        let Some(name) = path.get(depth) else {
            return module;
        };
        for found in &self.uses[&module] {
            let Some(to) = self.absolute(&module, &found.path) else {
                continue;
            };
            if found.name == *name && !seen.contains(&to) {
                seen.push(to.clone());
                return self.definition(&[&to[..], &path[depth + 1..]].concat(), seen);
            }
            if found.name == "*" && found.is_public && self.defines(&to[..to.len() - 1], name) {
                return to[..to.len() - 1].to_vec();
            }
        }
        module
    }

    fn defines(&self, module: &[String], name: &str) -> bool {
        let tokens = self.tokens.get(module).map_or(&[][..], Vec::as_slice);
        let defines = |pair: &[String]| ITEMS.contains(&pair[0].as_str()) && pair[1] == name;
        tokens.windows(2).any(defines)
    }
}

fn child(module: &[String], name: &str) -> Module {
    [module, &[name.to_string()]].concat()
}

fn read_all(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of it").path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(name);
            read_all(&path, module, texts);
            module.pop();
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let module = match name.as_str() {
                "mod" | "lib" => module.clone(),
                name => child(module, name),
            };
            texts.insert(module, text);
        }
    }
}

/// Words, `::`, and other signs one by one; comments are left out, and what literals say.
fn tokens_of(text: &str) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < all.len() {
        let rest = &all[i..];
        let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
        let length = match rest {
            ['/', '/', ..] => rest.iter().take_while(|c| **c != '\n').count(),
            ['/', '*', ..] => 2 + until(&rest[2..], "*/"),
            ['r', '#', '"', ..] => 3 + until(&rest[3..], "\"#"),
            ['"', ..] => quoted(rest, '"'),
            ['\'', '\\', ..] | ['\'', _, '\'', ..] => quoted(rest, '\''),
            [':', ':', ..] => 2,
            [c, ..] if is_word(c) => rest.iter().take_while(|c| is_word(c)).count(),
            _ => 1,
        };
        let is_kept = !rest[0].is_whitespace() && !matches!(rest, ['/', '/' | '*', ..]);
        let is_literal = matches!(rest, ['"', ..] | ['\'', ..] | ['r', '#', '"', ..]);
        if is_kept && !is_literal {
            tokens.push(rest[..length].iter().collect());
        }
        i += length;
    }
    tokens
}

/// Returns the number of characters up to the end of that sign.
fn until(all: &[char], sign: &str) -> usize {
    let sign: Vec<char> = sign.chars().collect();
    let at = all.windows(sign.len()).position(|window| window == sign);
    at.map_or(all.len(), |at| at + sign.len())
}

/// Returns the number of characters of a literal, quotes included.
fn quoted(all: &[char], quote: char) -> usize {
    let mut i = 1;
    while i < all.len() && all[i] != quote {
        i += if all[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(all.len())
}

/// Returns the index at which the bracket that opens at `open` is closed.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    tokens.len() - 1
}

/// Leaves out attributes, and the items that only tests have.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let is_attribute = tokens[i] == "#" && tokens.get(i + 1).is_some_and(|t| t == "[");
        if !is_attribute {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        }
        let end = closing(tokens, i + 1);
        let is_test = is_for_tests(&tokens[i + 2..end]);
        i = end + 1;
        if is_test {
            i = end_of_item(tokens, i);
        }
    }
    kept
}

fn is_for_tests(attribute: &[String]) -> bool {
    let text = attribute.concat();
    text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

fn end_of_item(tokens: &[String], mut i: usize) -> usize {
    while i < tokens.len() {
        match tokens[i].as_str() {
            "(" | "[" => i = closing(tokens, i),
            "{" => {
                let end = closing(tokens, i) + 1;
                let is_use = tokens.get(end).is_some_and(|t| t == ";");
                return end + usize::from(is_use);
            }
            ";" | "," => return i + 1,
            "}" => return i,
            _ => {}
        }
        i += 1;
    }
    i
}

fn modules_named(tokens: &[String]) -> Vec<String> {
    let named = tokens.windows(3).filter(|w| w[0] == "mod" && w[2] == ";");
    named.map(|w| w[1].clone()).collect()
}

fn uses_of(tokens: &[String]) -> Vec<Use> {
    let mut uses = Vec::new();
    for i in (0..tokens.len()).filter(|i| tokens[*i] == "use") {
        let is_public = i > 0 && matches!(tokens[i - 1].as_str(), "pub" | ")");
        let mut found = Vec::new();
        use_tree(tokens, i + 1, &[], &mut found);
        uses.extend(found.into_iter().map(|(path, name)| Use {
            path,
            name,
            is_public,
        }));
    }
    uses
}

/// Adds the names that a tree brings, with their paths, to `found`. Returns where the tree ends.
fn use_tree(
    tokens: &[String],
    mut i: usize,
    before: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        if tokens[i] == "{" {
            i += 1;
            while tokens[i] != "}" {
                i = use_tree(tokens, i, &path, found);
                i += usize::from(tokens[i] == ",");
            }
            return i + 1;
        }
        path.push(tokens[i].clone());
        i += 1;
        if tokens[i] != "::" {
            break;
        }
        i += 1;
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens[i] == "as" {
        name = tokens[i + 1].clone();
        i += 2;
    }
    found.push((path, name));
    i
}

/// Paths that say where they begin, but for those of `use`.
fn paths_of(tokens: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for i in 0..tokens.len().saturating_sub(1) {
        let begins = matches!(tokens[i].as_str(), "crate" | "super" | "self");
        let goes_on = i > 0 && matches!(tokens[i - 1].as_str(), "::" | "use");
        if !begins || goes_on || tokens[i + 1] != "::" {
            continue;
        }
        let mut path = vec![tokens[i].clone()];
        let mut at = i + 1;
        while tokens[at] == "::" && tokens[at + 1].starts_with(char::is_alphabetic) {
            path.push(tokens[at + 1].clone());
            at += 2;
        }
        paths.push(path);
    }
    paths
}

/// Returns the index behind the parameters in `<…>`, if there are any at `at`.
fn after_parameters(tokens: &[String], at: usize) -> usize {
    let mut depth = 0;
    for i in at..tokens.len() {
        match tokens[i].as_str() {
            "<" => depth += 1,
            // Not the end of `->`.
            ">" if tokens[i - 1] != "-" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if i == at { at } else { i + 1 };
        }
    }
    at
}

/// The methods that types are given in `impl` blocks without a trait: the type, the name, and where the method's text is.
fn inherent_methods(tokens: &[String]) -> Vec<(String, String, Range<usize>)> {
    let mut methods = Vec::new();
    for i in (0..tokens.len()).filter(|i| tokens[*i] == "impl") {
        let Some(open) = (i..tokens.len()).find(|at| tokens[*at] == "{" || tokens[*at] == ";")
        else {
            continue;
        };
        let is_item = i == 0 || matches!(tokens[i - 1].as_str(), "}" | ";");
        let is_inherent = !tokens[i..open].iter().any(|token| token == "for");
        if !is_item || !is_inherent || tokens[open] == ";" {
            continue;
        }
        let end = closing(tokens, open);
        let of = &tokens[after_parameters(tokens, i + 1)];
        let begins: Vec<usize> = (open..end).filter(|at| tokens[*at] == "fn").collect();
        let ends = begins.iter().skip(1).chain([&end]);
        for (begin, end) in begins.iter().zip(ends) {
            methods.push((of.clone(), tokens[begin + 1].clone(), *begin..*end));
        }
    }
    methods
}
