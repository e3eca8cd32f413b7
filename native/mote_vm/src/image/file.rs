//! An image in a file: written beside the one that is there, and read as a whole.
//!
//! Invariants:
//! 1. A file has its name only when all of it is on the disk: until then, the one before is there.
use super::blocks::{contents, place};
use super::tables::{AdmitAtoms, ImageTables};
use super::{wrong, ImageError};
pub use crate::boundary::journal::said;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};

/// Bytes at the end of the contents: where the roots and the tables begin.
pub(crate) const END: usize = 16;

/// A part of a file that is being written.
pub enum ImagePart {
    /// The next bytes.
    Block(Vec<u8>),
    /// All of it was sent.
    Whole,
}

/// Writes what comes into a file of that name, and gives the room of each block back. Returns the number of its bytes. If not all comes,
/// or the system does not take it, the file is as it was.
pub fn write(path: &Path, parts: &Receiver<ImagePart>, rooms: &Sender<Vec<u8>>) -> io::Result<u64> {
    let (mut file, beside) = create_beside(path)?;
    let written = write_to(&mut file, parts, rooms).and_then(|bytes| {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = File::open(folder.unwrap_or(Path::new(".")))?;
        fs::rename(&beside, path)?;
        // The name is on the disk as well.
        folder.sync_all()?;
        Ok(bytes)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Makes a file whose name no other writer has, nor has left there: a process of an earlier life may have had the same number.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static WRITERS: AtomicU64 = AtomicU64::new(0);
    loop {
        // Relaxed: only to be different.
        let number = WRITERS.fetch_add(1, Relaxed);
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}-{number}.part", std::process::id()));
        let beside = path.with_file_name(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
        {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => return made.map(|file| (file, beside)),
        }
    }
}

fn write_to(
    file: &mut File,
    parts: &Receiver<ImagePart>,
    rooms: &Sender<Vec<u8>>,
) -> io::Result<u64> {
    let mut bytes = 0;
    for part in parts {
        match part {
            ImagePart::Block(block) => {
                file.write_all(&block)?;
                bytes += block.len() as u64;
                // Nobody may want it any more.
                let _ = rooms.send(block);
            }
            ImagePart::Whole => {
                file.sync_all()?;
                return Ok(bytes);
            }
        }
    }
    let ended = "the machine has ended, or the image could not be made";
    Err(io::Error::new(io::ErrorKind::Interrupted, ended))
}

/// An image that was read, and whose blocks and tables are good.
pub struct ImageFile {
    pub(crate) contents: Vec<u8>,
    /// The place where the roots begin, and where the tables do.
    pub(crate) roots: usize,
    pub(crate) tables_at: usize,
    /// Its tables.
    pub tables: ImageTables,
}

impl ImageFile {
    /// Reads a file, if its atoms may be made.
    pub fn open(path: &Path, admit: AdmitAtoms<'_>) -> Result<ImageFile, ImageError> {
        // Others, such as devices, may have no end.
        let read = match fs::metadata(path) {
            Ok(about) if !about.is_file() => Err(io::Error::other("this is no file")),
            _ => fs::read(path),
        };
        match read {
            Ok(bytes) => ImageFile::read(bytes, admit),
            Err(error) => Err(ImageError::Unreadable(said(&error))),
        }
    }

    /// Reads the bytes of a file.
    pub fn read(file: Vec<u8>, admit: AdmitAtoms<'_>) -> Result<ImageFile, ImageError> {
        let contents = contents(file)?;
        let read = || {
            let Some((rest, end)) = contents.split_last_chunk::<END>() else {
                return wrong(contents.len(), "nothing is in the image");
            };
            let begins = |at: usize| {
                let word = end[at..at + 8].try_into().map(u64::from_le_bytes);
                usize::try_from(word.unwrap_or(u64::MAX)).unwrap_or(usize::MAX)
            };
            let (roots, tables_at) = (begins(0), begins(8));
            if roots > tables_at || tables_at > rest.len() {
                return wrong(
                    rest.len(),
                    "the parts of the image are not where they can be",
                );
            }
            Ok((roots, tables_at, ImageTables::read(rest, tables_at, admit)?))
        };
        let (roots, tables_at, tables) = read().map_err(in_file)?;
        Ok(ImageFile {
            contents,
            roots,
            tables_at,
            tables,
        })
    }
}

/// A problem of the contents, at its place in the file.
pub(crate) fn in_file(error: ImageError) -> ImageError {
    match error {
        ImageError::At { offset, problem } => ImageError::At {
            offset: place(offset),
            problem,
        },
        other => other,
    }
}
