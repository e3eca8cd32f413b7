//! An image in a file: written beside the one that is there, and read as a whole.
//!
//! Invariants:
//! 1. A file has its name only when all of it is on the disk: until then, the one before is there.
//! 2. Whoever hands over what is to be written does not wait for a disk that takes nothing: a machine keeps what it was meanwhile.
use super::blocks::{contents, place};
use super::tables::{AdmitAtoms, ImageTables};
use super::{wrong, ImageError};
pub use crate::boundary::journal::said;
use crate::platform::write_out::begin_write_out;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes at the end of the contents: where the roots and the tables begin.
pub(crate) const END: usize = 16;

/// A part of a file that is being written.
pub enum ImagePart {
    /// The next bytes.
    Block(Vec<u8>),
    /// All of it was sent.
    Whole,
}

/// The reason why a part was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTaken {
    /// Nobody wants it any more.
    Unwanted,
    /// The disk has taken nothing for as long as it is waited for.
    Stuck,
}

/// The time between two looks for room.
const LOOK: Duration = Duration::from_millis(1);

/// Hands a part over to whoever writes it, and waits for room until `patience` is over, or `ends` (invariant 2).
pub fn hand_over(
    parts: &SyncSender<ImagePart>,
    mut part: ImagePart,
    patience: Duration,
    ends: impl Fn() -> bool,
) -> Result<(), NotTaken> {
    let begun = Instant::now();
    loop {
        match parts.try_send(part) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(same)) if !ends() => part = same,
            Err(_) => return Err(NotTaken::Unwanted),
        }
        if begun.elapsed() > patience {
            return Err(NotTaken::Stuck);
        }
        sleep(LOOK);
    }
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
                begin_write_out(file, bytes, block.len());
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    /// Invariant 2.
    #[test]
    fn a_disk_that_takes_nothing_is_not_waited_for() {
        let (parts, taken) = sync_channel(1);
        let give = |patience, ends| hand_over(&parts, ImagePart::Whole, patience, move || ends);
        assert_eq!(give(Duration::ZERO, false), Ok(()));
        assert_eq!(give(Duration::ZERO, false), Err(NotTaken::Stuck));
        assert_eq!(give(Duration::MAX, true), Err(NotTaken::Unwanted));
        let reader = std::thread::spawn(move || (taken.recv().is_ok(), taken));
        assert_eq!(give(Duration::MAX, false), Ok(()));
        assert!(reader.join().is_ok_and(|(read, _)| read));
        assert_eq!(give(Duration::MAX, false), Err(NotTaken::Unwanted));
    }
}
