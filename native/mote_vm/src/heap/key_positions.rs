//! The positions at which atoms were found last among the keys of maps of one node. Most maps that are asked for an atom
//! have the shape of earlier ones: the state of actors, structs, messages. So the first guess is mostly right.
//!
//! Invariants:
//! 1. A position is a guess. Whoever takes it compares the key that is there, so that wrong ones cost time only.
use crate::values::value::Value;

/// The number of guesses: atoms whose numbers have the same lowest bits share one.
const GUESSES: usize = 256;

/// The guesses of one thread.
pub(crate) struct KeyPositions([u8; GUESSES]);

impl KeyPositions {
    pub(crate) fn new() -> KeyPositions {
        KeyPositions([0; GUESSES])
    }

    /// Returns the position of an atom among the keys of a node, and learns it.
    #[inline(always)]
    pub(crate) fn of(&mut self, key: Value, keys: &[Value]) -> Option<usize> {
        let guess = &mut self.0[(key.word() >> Value::ATOM_SHIFT) as usize % GUESSES];
        let guessed = usize::from(*guess);
        if keys.get(guessed) == Some(&key) {
            return Some(guessed);
        }
        let at = keys.iter().position(|k| *k == key)?;
        *guess = at as u8;
        Some(at)
    }
}
