//! A journal in a file: a header, then entries. An entry is what has entered a machine together, and where between its turns.
//!
//! ```text
//! header   magic, version, number, seed, secret (2), fuel, told, named, moment, continues, before, checksum    words of 8 bytes
//! entry    length, position, moment, trail, checksum of the records, checksum of these  words, then the records
//! record   length (4 bytes), then as many bytes, which are the embedder's
//! ```
//!
//! Invariants:
//! 1. What was synced is read, or the file is refused at the byte where it was changed. Only what was being written last may be
//!    incomplete: it is cut off if nothing that is whole follows it.
//! 2. A file has its name when its header is on the disk, and an entry is acknowledged only if the file has a name still.
//! 3. Nothing follows an entry that could not be written: how much of it is on the disk nobody knows.
//! 4. The checksums of an entry depend on its number and on its journal's secret: an entry in another's place is as wrong as a changed
//!    one.
use crate::base::checksum::checksum;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MAGIC: u64 = u64::from_le_bytes(*b"MOTE\0jnl");
/// The version of the format.
const VERSION: u64 = 3;
const HEADER: usize = 104;
/// The offset of `before` in the header.
pub(crate) const BEFORE: u64 = 88;
const HEAD: usize = 48;

/// The header of a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JournalHeader {
    /// The number of the image that it goes on from.
    pub number: u64,
    /// Random numbers are drawn from here on by this seed.
    pub seed: u64,
    /// The keys of addresses that turns give out are made with it.
    pub secret: [u64; 2],
    /// The steps that a turn may take.
    pub fuel: u64,
    /// The number of messages told to processes before, and of the addresses given out by that.
    pub told: u64,
    /// See `told`.
    pub named: u64,
    /// The machine's time, in milliseconds.
    pub moment: u64,
    /// It goes on where the journal with the number before ends. Otherwise it is the first one of a life.
    pub continues: bool,
    /// Entries of the journal that it goes on from.
    pub before: u64,
}

/// The place among a machine's turns at which something has entered, and a digest that shows that the machine is the one
/// that it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct JournalPlace {
    /// Turns since the journal begins.
    pub(crate) position: u64,
    /// A digest of the effects of these turns.
    pub(crate) trail: u64,
}

/// An entry that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalEntry {
    /// The byte of the file where it begins.
    pub offset: u64,
    pub(crate) place: JournalPlace,
    /// The machine's time, in milliseconds.
    pub(crate) moment: u64,
    /// The records of everything that has entered, in its order.
    pub(crate) records: Vec<Vec<u8>>,
}

/// The reason why a journal was not read.
#[derive(Debug, PartialEq, Eq)]
pub enum JournalError {
    /// The system could not read the file.
    Unreadable(String),
    /// Something is wrong at that byte of the file.
    Wrong {
        /// The byte.
        offset: u64,
        /// The problem, as text.
        problem: String,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Unreadable(why) => write!(f, "{why}"),
            JournalError::Wrong { offset, problem } => write!(f, "at byte {offset}: {problem}"),
        }
    }
}

impl std::error::Error for JournalError {}

fn wrong<T>(offset: usize, problem: impl Into<String>) -> Result<T, JournalError> {
    Err(JournalError::Wrong {
        offset: offset as u64,
        problem: problem.into(),
    })
}

/// A journal that is being written.
pub(crate) struct JournalWriter {
    file: File,
    path: PathBuf,
    header: JournalHeader,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    buffer: Vec<u8>,
    /// Invariant 3.
    is_over: bool,
}

impl JournalWriter {
    /// Makes a new file, whose name is on the disk when this returns.
    pub(crate) fn create(path: &Path, header: JournalHeader) -> io::Result<JournalWriter> {
        if path.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let part = path.with_extension("journal.part");
        let mut file = File::create(&part)?;
        let written = file
            .write_all(&header_bytes(&header))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&part, path))
            .and_then(|()| sync_folder(path));
        if let Err(error) = written {
            let _ = fs::remove_file(&part);
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(JournalWriter {
            file,
            path: path.to_path_buf(),
            header,
            entries: 0,
            bytes: HEADER as u64,
            buffer: Vec::new(),
            is_over: false,
        })
    }

    /// Returns the number of bytes that were added and are not written.
    pub(crate) fn unwritten(&self) -> usize {
        self.buffer.len()
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an entry, which the next write takes along.
    pub(crate) fn add(&mut self, place: JournalPlace, moment: u64, records: &[u8]) {
        let mut head = [0; HEAD];
        let salt = salt(&self.header, self.entries);
        let words = [
            records.len() as u64,
            place.position,
            moment,
            place.trail,
            checksum(salt, records),
        ];
        put(&mut head, &words);
        let (words, sum) = head.split_at_mut(HEAD - 8);
        sum.copy_from_slice(&checksum(salt, words).to_le_bytes());
        self.buffer.extend_from_slice(&head);
        self.buffer.extend_from_slice(records);
        self.entries += 1;
    }

    /// Writes the entries that were added; `sync`: and waits until the disk has them.
    pub(crate) fn write(&mut self, sync: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Err(io::Error::other("an entry before could not be written"));
        }
        self.file.write_all(&self.buffer)?;
        if sync {
            self.file.sync_data()?;
        }
        if self.file.metadata()?.nlink() == 0 {
            return Err(io::Error::other("its file was removed"));
        }
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER);
        self.is_over = false;
        Ok(())
    }
}

/// Bytes of the buffer that are kept for the next entries.
const KEPT_BUFFER: usize = 2 << 20;

/// Syncs the folder that a file is in, so that its name is on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn put(bytes: &mut [u8], words: &[u64]) {
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

fn header_bytes(header: &JournalHeader) -> [u8; HEADER] {
    let [low, high] = header.secret;
    let mut bytes = [0; HEADER];
    let words = [
        MAGIC,
        VERSION,
        header.number,
        header.seed,
        low,
        high,
        header.fuel,
        header.told,
        header.named,
        header.moment,
        header.continues.into(),
        header.before,
    ];
    put(&mut bytes, &words);
    let (words, sum) = bytes.split_at_mut(HEADER - 8);
    sum.copy_from_slice(&checksum(VERSION, words).to_le_bytes());
    bytes
}

fn salt(header: &JournalHeader, number: u64) -> u64 {
    header.secret[0] ^ number
}

/// A journal that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct JournalFile {
    /// The header of the file.
    pub header: JournalHeader,
    /// Its entries in their order.
    pub entries: Vec<JournalEntry>,
    /// The byte at which something incomplete was cut off.
    pub cut: Option<u64>,
}

impl JournalFile {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<JournalFile, JournalError> {
        match fs::read(path) {
            Ok(bytes) => JournalFile::read(&bytes),
            Err(error) => Err(JournalError::Unreadable(said(&error))),
        }
    }

    /// Turns that had run at its last entry.
    pub fn turns(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.place.position)
    }

    /// Reads the bytes of a file.
    pub fn read(bytes: &[u8]) -> Result<JournalFile, JournalError> {
        let header = read_header(bytes)?;
        let mut journal = JournalFile {
            header,
            entries: Vec::new(),
            cut: None,
        };
        let mut at = HEADER;
        while at < bytes.len() {
            let number = journal.entries.len() as u64;
            match read_entry(bytes, at, salt(&header, number))? {
                Some((entry, next)) => {
                    journal.entries.push(entry);
                    at = next;
                }
                None if is_followed(bytes, at, &header, number) => {
                    return wrong(
                        at,
                        "the checksum of the entry is wrong, and entries that are whole follow it: its bytes were changed",
                    );
                }
                None => {
                    journal.cut = Some(at as u64);
                    break;
                }
            }
        }
        Ok(journal)
    }
}

fn read_header(bytes: &[u8]) -> Result<JournalHeader, JournalError> {
    if word_at(bytes, 0) != Some(MAGIC) {
        return wrong(0, "this is not the journal of a machine");
    }
    match word_at(bytes, 8) {
        Some(VERSION) => {}
        Some(other) => {
            return wrong(
                8,
                format!("the journal is of version {other} of the format, and this Mote reads version {VERSION}"),
            );
        }
        None => return wrong(bytes.len(), "the file ends here, within its header"),
    }
    let Some(header) = bytes.get(..HEADER) else {
        return wrong(bytes.len(), "the file ends here, within its header");
    };
    if word_at(bytes, HEADER - 8) != Some(checksum(VERSION, &header[..HEADER - 8])) {
        return wrong(
            16,
            "the checksum of the header is wrong: its bytes were changed",
        );
    }
    let word = |n: usize| word_at(bytes, 8 * n).unwrap_or_default();
    Ok(JournalHeader {
        number: word(2),
        seed: word(3),
        secret: [word(4), word(5)],
        fuel: word(6),
        told: word(7),
        named: word(8),
        moment: word(9),
        continues: word(10) == 1,
        before: word(11),
    })
}

/// The head of an entry, if that is whole: the length of the records, place, moment and their checksum.
fn read_head(bytes: &[u8], at: usize, salt: u64) -> Option<(usize, JournalPlace, u64, u64)> {
    let head = bytes.get(at..at.checked_add(HEAD)?)?;
    let word = |n: usize| word_at(head, 8 * n).unwrap_or_default();
    if word(5) != checksum(salt, &head[..HEAD - 8]) {
        return None;
    }
    let place = JournalPlace {
        position: word(1),
        trail: word(3),
    };
    Some((usize::try_from(word(0)).ok()?, place, word(2), word(4)))
}

/// The entry that begins there, and where the next one does; none if it is not whole.
fn read_entry(
    bytes: &[u8],
    at: usize,
    salt: u64,
) -> Result<Option<(JournalEntry, usize)>, JournalError> {
    let Some((length, place, moment, sum)) = read_head(bytes, at, salt) else {
        return Ok(None);
    };
    let from = at + HEAD;
    let end = from.saturating_add(length);
    let Some(mut rest) = bytes.get(from..end) else {
        return Ok(None);
    };
    if checksum(salt, rest) != sum {
        return Ok(None);
    }
    let mut records = Vec::new();
    while let Some((size, behind)) = rest.split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size) as usize;
        let Some((record, behind)) = behind.split_at_checked(size) else {
            return wrong(at, "a record is longer than its entry");
        };
        records.push(record.to_vec());
        rest = behind;
    }
    if !rest.is_empty() {
        return wrong(at, "a record is longer than its entry");
    }
    let entry = JournalEntry {
        offset: at as u64,
        place,
        moment,
        records,
    };
    Ok(Some((entry, end)))
}

/// Returns whether the head of any later entry lies behind one that is not whole.
fn is_followed(bytes: &[u8], at: usize, header: &JournalHeader, number: u64) -> bool {
    // Entries are not aligned. A head that was changed does not say how long its entry is, so it is looked for at each byte; those that
    // were lost with it are no more than fit in between.
    let least = |from: usize| 1 + ((from - at) / HEAD) as u64;
    match read_head(bytes, at, salt(header, number)) {
        Some((length, ..)) => {
            let next = at.saturating_add(HEAD).saturating_add(length);
            read_head(bytes, next, salt(header, number + 1)).is_some()
        }
        None => (at + 1..bytes.len().saturating_sub(HEAD - 1)).any(|from| {
            let most = least(from).min(MOST_LOST);
            (1..=most).any(|n| read_head(bytes, from, salt(header, number + n)).is_some())
        }),
    }
}

/// Entries in a row whose heads may all have been changed, and which are missed all the same.
const MOST_LOST: u64 = 4;

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// Returns the system's text for an error, without the number that it adds.
pub fn said(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let (first, rest) = text.split_at_checked(1).unwrap_or(("", text));
    first.to_lowercase() + rest
}

#[cfg(all(test, not(any(loom, miri))))]
#[path = "tests.rs"]
mod tests;
