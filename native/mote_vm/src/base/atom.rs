//! Atoms: names interned once per process, compared by number.
//!
//! The table only grows, like the BEAM's. Making an atom takes a lock; reading a name takes none, because atoms, and so keys of
//! maps, are ordered by name.
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The number of an interned name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Atom(u32);

/// Defines atoms with fixed numbers, so that code can use them as constants.
macro_rules! well_known {
    ($($constant:ident = $name:literal),*) => {
        const WELL_KNOWN: [&str; [$($name),*].len()] = [$($name),*];

        #[allow(clippy::upper_case_acronyms, non_camel_case_types)] // As the constants are written.
        enum AtomNumber { $($constant),* }

        impl Atom {
            $(#[doc = concat!("`:", $name, "`")]
            pub const $constant: Atom = Atom(AtomNumber::$constant as u32);)*
        }
    };
}

well_known! {
    NIL = "nil", TRUE = "true", FALSE = "false", UNDEFINED = "undefined", OK = "ok",
    ERROR = "error", ABORT = "abort", FUEL = "fuel", STACK = "stack",
    UNDEFINED_FUNCTION = "undefined_function", NO_MEMORY = "no_memory", BADMATCH = "badmatch",
    CASE_CLAUSE = "case_clause", COND_CLAUSE = "cond_clause",
    FUNCTION_CLAUSE = "function_clause", STOPPED = "stopped", KILLED = "killed",
    RAISED = "raised", MOVED = "moved", BEAM_ONLY = "beam_only", CRASHED = "crashed",
    TIMEOUT = "timeout", AGAIN = "again"
}

impl Atom {
    /// The number.
    #[inline(always)]
    pub const fn id(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(crate) const fn from_id(id: u32) -> Atom {
        Atom(id)
    }

    /// The atom of that name; made if it is new.
    pub fn new(name: &str) -> Atom {
        let table = table();
        if let Some(id) = table.read().ids.get(name) {
            return Atom(*id);
        }
        table.write().intern(name)
    }

    /// Returns whether there is one of that name.
    pub fn is_known(name: &str) -> bool {
        table().read().ids.contains_key(name)
    }

    /// Returns how many there are in this system process.
    pub fn count() -> usize {
        table().read().ids.len()
    }

    /// The name.
    pub fn name(self) -> &'static str {
        names::get(self.0).unwrap_or_else(|| {
            // A well-known one, before there was any other.
            table();
            names::get(self.0).unwrap_or_default()
        })
    }
}

/// Names by number, in chunks that never move: the i-th has room for 64 << i.
mod names {
    use std::sync::OnceLock;

    const FIRST: u32 = 6;
    type NameChunk = Box<[OnceLock<&'static str>]>;
    static CHUNKS: [OnceLock<NameChunk>; 32 - FIRST as usize] =
        [const { OnceLock::new() }; 32 - FIRST as usize];

    fn place(id: u32) -> (usize, usize) {
        let n = u64::from(id) + (1 << FIRST);
        let chunk = n.ilog2() - FIRST;
        (chunk as usize, (n - (1 << (chunk + FIRST))) as usize)
    }

    pub(crate) fn get(id: u32) -> Option<&'static str> {
        let (chunk, at) = place(id);
        CHUNKS[chunk].get()?[at].get().copied()
    }

    pub(crate) fn set(id: u32, name: &'static str) {
        let (chunk, at) = place(id);
        let size = 1usize << (chunk + FIRST as usize);
        let chunk = CHUNKS[chunk].get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        // A number is given once.
        let _ = chunk[at].set(name);
    }
}

#[derive(Default)]
struct AtomTable {
    ids: FxHashMap<&'static str, u32>,
}

impl AtomTable {
    fn intern(&mut self, name: &str) -> Atom {
        if let Some(id) = self.ids.get(name) {
            return Atom(*id);
        }
        // Names live as long as the process, as on the BEAM; so they may as well be static.
        let name: &'static str = Box::leak(name.into());
        let id = self.ids.len() as u32;
        names::set(id, name);
        self.ids.insert(name, id);
        Atom(id)
    }
}

fn table() -> &'static RwLock<AtomTable> {
    static TABLE: OnceLock<RwLock<AtomTable>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = AtomTable::default();
        for name in WELL_KNOWN {
            table.intern(name);
        }
        RwLock::new(table)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_atoms_have_their_names() {
        assert_eq!(Atom::NIL.name(), "nil");
        assert_eq!(Atom::RAISED.name(), "raised");
        assert_eq!(Atom::MOVED.name(), "moved");
        assert_eq!(Atom::AGAIN.name(), "again");
        assert_eq!(Atom::new("undefined"), Atom::UNDEFINED);
    }

    #[test]
    fn a_name_has_one_atom() {
        let atom = Atom::new("a name of its own");
        assert_eq!(Atom::new("a name of its own"), atom);
        assert_eq!(atom.name(), "a name of its own");
    }
}
