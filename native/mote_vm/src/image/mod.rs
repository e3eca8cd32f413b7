//! Images: all that a machine holds and does, as of one moment, as bytes from which another machine goes on.
//!
//! ```text
//! file      magic, version, then blocks (blocks.rs), whose contents are one row of bytes:
//!           cells and actors (record.rs), roots, tables (tables.rs), and where each of these begins
//! cells     each after those that it refers to: so one pass makes them, and no two refer to each other
//! actors    in the order of their numbers; whatever refers to an actor names its number
//! roots     what the caller has named, the events that wait, the timers, the keys of a machine with an identity
//! tables    the identity, atoms, sponsors, code, behaviours by module, name and hash, the values that could not be written
//! ```
//!
//! Writing: [`walk`] goes through everything that the roots reach (`save.rs`), as of a moment at which the machine stood still
//! (`moment.rs`), and hands the
//! blocks to whoever puts them into a file. Reading: [`file`] checks the blocks and the tables; `restore.rs` makes the cells and
//! the actors in a machine that has done nothing yet, and lets its events go.
//!
//! Invariants:
//! 1. A cell is written once, however many refer to it, but for the inner nodes of maps: a map is written as its entries, and
//!    those of another version of it as well.
//! 2. Bytes are trusted with nothing, whatever checksums say. Each number is compared with what there is, each behaviour with the
//!    code that is loaded, and memory is taken from the quota. No turn runs before all of an image is known to be good.
//! 3. What only the outside knows, such as a process, is not written. A value without meaning takes its place, or what the embedder
//!    has for it, and a table says which values these were, and who held them.
//! 4. What is saved can be read: whoever saves counts atoms, cells and the price of keys as whoever reads does.
pub(crate) mod blocks;
pub(crate) mod chunks;
pub mod file;
pub(crate) mod fingerprint;
mod moment;
pub(crate) mod numbers;
pub(crate) mod record;
mod restore;
pub mod save;
pub mod tables;
mod waits;
pub mod walk;

pub use restore::migration::{Migrated, MigratingActor, Migration};
pub use restore::ForeignMaker;

use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::code::error::LoadError;
use std::fmt;

/// The reason why an image was not read, or why a machine does not go on from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImageError {
    /// The system could not read the file.
    Unreadable(String),
    /// Something is wrong at that byte of the file.
    At {
        /// The byte.
        offset: u64,
        /// The problem, as text.
        problem: String,
    },
    /// The image is good, and this machine lacks something.
    Lacks(String),
    /// The machine has no memory for it.
    NoMemory,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Unreadable(why) | ImageError::Lacks(why) => write!(f, "{why}"),
            ImageError::At { offset, problem } => write!(f, "at byte {offset}: {problem}"),
            ImageError::NoMemory => write!(f, "the machine has no memory for all that is in it"),
        }
    }
}

impl std::error::Error for ImageError {}

/// A problem of the reader of units, which reads images as well. Its offset is that of the contents.
impl From<LoadError> for ImageError {
    fn from(error: LoadError) -> ImageError {
        match error {
            LoadError::Format { offset, problem } => ImageError::At {
                offset: offset as u64,
                problem: problem.to_string(),
            },
            other => ImageError::Lacks(other.to_string()),
        }
    }
}

/// Returns the name of the behaviour of an actor that a move holds (machine/moving.rs).
pub(crate) fn held_by_a_move() -> BehaviourName {
    let name = Atom::new("held");
    BehaviourName {
        module: Atom::new("Elixir.Mote.Move.Ways"),
        name,
        written: name,
        captures: 3,
        stashes: true,
    }
}

/// Returns an error for that byte of the contents.
pub(crate) fn wrong<T>(offset: usize, problem: impl Into<String>) -> Result<T, ImageError> {
    Err(ImageError::At {
        offset: offset as u64,
        problem: problem.into(),
    })
}
