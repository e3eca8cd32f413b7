use super::*;
use crate::boundary::journal::{Journal, JournalConfig};
use proptest::prelude::*;
use std::path::PathBuf;

/// A file of its own in a folder of its own, both gone afterwards.
struct JournalFolder(PathBuf);

impl JournalFolder {
    fn new(name: &str) -> JournalFolder {
        let path = std::env::temp_dir().join(format!("mote-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        JournalFolder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("1.journal")
    }
}

impl Drop for JournalFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn header() -> JournalHeader {
    JournalHeader {
        number: 7,
        seed: 1,
        secret: [2, 3],
        fuel: 4,
        told: 5,
        named: 6,
        moment: 7,
        continues: true,
        before: 7,
    }
}

fn row(records: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        bytes.extend_from_slice(record);
    }
    bytes
}

fn append(
    writer: &mut JournalWriter,
    place: JournalPlace,
    moment: u64,
    records: &[u8],
    sync: bool,
) -> io::Result<()> {
    writer.add(place, moment, records);
    writer.write(sync)
}

/// The bytes of a journal with so many entries, and where each of these ends.
fn written(name: &str, entries: u64) -> (Vec<u8>, Vec<usize>) {
    let scratch = JournalFolder::new(name);
    let mut writer = JournalWriter::create(&scratch.file(), header()).expect("a file");
    let mut ends = vec![writer.bytes as usize];
    for n in 0..entries {
        let place = JournalPlace {
            position: 10 * n,
            trail: n,
        };
        let record = n.to_le_bytes();
        let records = row(&[&record, b"", &record[..(n % 8) as usize]]);
        append(&mut writer, place, 100 + n, &records, n == 0).expect("room");
        ends.push(writer.bytes as usize);
    }
    (fs::read(scratch.file()).expect("the file"), ends)
}

#[test]
fn entries_come_back() {
    let (bytes, _) = written("back", 5);
    let journal = JournalFile::read(&bytes).expect("a journal");
    assert_eq!((journal.header, journal.cut), (header(), None));
    for (n, entry) in (0..).zip(&journal.entries) {
        let place = JournalPlace {
            position: 10 * n,
            trail: n,
        };
        assert_eq!((entry.place, entry.moment), (place, 100 + n));
        let record = n.to_le_bytes();
        let shorter = record[..(n % 8) as usize].to_vec();
        assert_eq!(entry.records, [record.to_vec(), Vec::new(), shorter]);
    }
    assert_eq!(journal.entries.len(), 5);
}

#[test]
fn a_journal_that_was_cut_has_all_entries_before_the_cut() {
    let (bytes, ends) = written("cut", 4);
    for length in ends[0]..=bytes.len() {
        let journal = JournalFile::read(&bytes[..length]).expect("a journal");
        let whole = ends.iter().filter(|end| **end <= length).count() - 1;
        assert_eq!(journal.entries.len(), whole, "{length}");
        let cut = (length != ends[whole]).then_some(ends[whole] as u64);
        assert_eq!(journal.cut, cut, "{length}");
    }
    for length in 0..ends[0] {
        assert!(JournalFile::read(&bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn a_changed_bit_is_refused_unless_it_is_in_the_last_entry() {
    let (bytes, ends) = written("flip", 4);
    for at in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let read = JournalFile::read(&changed);
        if at / 8 < ends[3] {
            let begin = ends.iter().rev().find(|end| **end <= at / 8);
            match (read, begin) {
                (Err(JournalError::Wrong { offset, .. }), Some(begin)) => {
                    assert_eq!(offset as usize, *begin, "{at}");
                }
                (Err(_), None) => {}
                (read, _) => panic!("{at}: {read:?}"),
            }
        } else {
            let journal = read.expect("the entries before");
            assert_eq!(
                (journal.entries.len(), journal.cut),
                (3, Some(ends[3] as u64))
            );
        }
    }
}

#[test]
fn another_version_is_named() {
    let (mut bytes, _) = written("version", 1);
    bytes[8] = 9;
    let error = JournalFile::read(&bytes).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "at byte 8: the journal is of version 9 of the format, and this Mote reads version 3"
    );
    let other = JournalFile::read(b"something else").expect_err("refused");
    assert_eq!(
        other.to_string(),
        "at byte 0: this is not the journal of a machine"
    );
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let scratch = JournalFolder::new("there");
    assert!(JournalWriter::create(&scratch.file(), header()).is_ok());
    assert!(JournalWriter::create(&scratch.file(), header()).is_err());
}

#[test]
fn a_file_that_was_removed_takes_no_more() {
    let scratch = JournalFolder::new("removed");
    let mut writer = JournalWriter::create(&scratch.file(), header()).expect("a file");
    let place = JournalPlace::default();
    append(&mut writer, place, 1, &[], true).expect("room");
    fs::remove_dir_all(&scratch.0).expect("a folder");
    let error = append(&mut writer, place, 1, &[], true).expect_err("refused");
    assert_eq!(error.to_string(), "its file was removed");
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes: Vec<u8>, entries in 0..3u64, at: prop::sample::Index) {
        let (mut file, _) = written("any", entries);
        let from = at.index(file.len());
        for (place, byte) in file[from..].iter_mut().zip(&bytes) {
            *place = *byte;
        }
        let _ = JournalFile::read(&file);
    }
}

/// Invariant 3.
#[test]
fn nothing_follows_an_entry_that_could_not_be_written() {
    let scratch = JournalFolder::new("over");
    let mut writer = JournalWriter::create(&scratch.file(), header()).expect("a file");
    let appends = |writer: &mut JournalWriter| {
        append(writer, JournalPlace::default(), 1, &row(&[b"x"]), true).is_ok()
    };
    assert!(appends(&mut writer));
    // One that can only be read takes nothing.
    let full = File::open(scratch.file()).expect("the file");
    let good = std::mem::replace(&mut writer.file, full);
    assert!(!appends(&mut writer));
    writer.file = good;
    assert!(!appends(&mut writer));
    let read = JournalFile::open(&scratch.file()).expect("it is whole");
    assert_eq!((read.entries.len(), read.cut), (1, None));
}

#[test]
fn what_was_noted_and_not_taken_is_written_behind_the_end_of_the_thread() {
    let scratch = JournalFolder::new("end");
    for ends in [false, true] {
        let path = scratch.0.join(format!("{ends}.journal"));
        let journal = Journal::create(&path, header(), JournalConfig::default()).expect("a file");
        journal.note(|notes| notes.record(&[b"one"]));
        let place = JournalPlace {
            position: 3,
            trail: 4,
        };
        if ends {
            journal.ends_at(place, 5);
        }
        // Whoever comes too late to wait ends it once more.
        (0..2).for_each(|_| journal.end());
        let read = JournalFile::open(&path).expect("it is whole");
        let entries = read.entries.iter();
        let entries: Vec<_> = entries
            .map(|e| (e.place, e.moment, e.records.len()))
            .collect();
        assert_eq!(entries, if ends { vec![(place, 5, 1)] } else { vec![] });
    }
}
