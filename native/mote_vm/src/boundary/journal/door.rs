//! The door of a journal: what was noted, and not taken by the thread of the machine or its stand-in.
use crate::values::handles::Key;

/// Called when the disk has what was noted before.
pub(super) type DurableWaiter = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(super) struct JournalDoor {
    pub(super) records: Vec<u8>,
    pub(super) waiters: Vec<DurableWaiter>,
    /// Keys that were let go of.
    pub(super) released: Vec<Key>,
}

impl JournalDoor {
    /// Returns what a caller notes with.
    pub(super) fn notes(&mut self) -> Notes<'_> {
        Notes(self)
    }

    /// See [`super::Journal::take`].
    pub(super) fn take(
        &mut self,
        brings: Option<&[u8]>,
        take: impl FnOnce(&[Key], usize) -> bool,
    ) -> Option<TakenNotes> {
        let bytes = self.records.len() + brings.map_or(0, <[u8]>::len);
        if !take(&self.released, bytes) {
            return None;
        }
        if let Some(record) = brings {
            self.notes().record(&[record]);
        }
        let JournalDoor {
            records,
            waiters,
            released: _,
        } = std::mem::take(self);
        Some(TakenNotes { records, waiters })
    }
}

/// The notes that were taken, and their waiters.
#[derive(Default)]
pub(crate) struct TakenNotes {
    pub(crate) records: Vec<u8>,
    pub(crate) waiters: Vec<DurableWaiter>,
}

/// The notes of a caller.
pub struct Notes<'d>(&'d mut JournalDoor);

impl Notes<'_> {
    /// Notes one thing that has entered.
    pub fn record(&mut self, parts: &[&[u8]]) {
        let records = &mut self.0.records;
        let begin = begin_record(records);
        parts
            .iter()
            .for_each(|part| records.extend_from_slice(part));
        let end = records.len();
        end_record(records, begin, end);
    }

    /// Notes things that have entered, whose records were written with [`begin_record`] and [`end_record`].
    pub fn records(&mut self, records: Vec<u8>) {
        match self.0.records.is_empty() {
            true => self.0.records = records,
            false => self.0.records.extend_from_slice(&records),
        }
    }

    /// Returns whether nothing waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.records.is_empty()
    }

    /// Notes that a key was let go of: it is, when what was noted so far is taken.
    pub fn release(&mut self, key: Key) {
        self.0.released.push(key);
    }
}

/// Begins a record behind others. Returns where.
#[inline]
pub fn begin_record(records: &mut Vec<u8>) -> usize {
    let begin = records.len();
    records.extend_from_slice(&[0; RECORD_LENGTH]);
    begin
}

/// The record that begins there ends at `end`.
#[inline]
pub fn end_record(records: &mut [u8], begin: usize, end: usize) {
    let length = (end - begin - RECORD_LENGTH) as u32;
    records[begin..begin + RECORD_LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// Bytes of the length before a record.
const RECORD_LENGTH: usize = size_of::<u32>();

/// The most bytes of a record.
pub const MOST_RECORD: usize = u32::MAX as usize;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn records_that_were_written_before_are_those_that_are_noted() {
        let parts: [&[u8]; 3] = [b"", b"one", &[7; 300]];
        let mut written = Vec::new();
        let mut ends = vec![0];
        for part in parts {
            let begin = begin_record(&mut written);
            written.extend_from_slice(part);
            ends.push(written.len());
            let end = written.len();
            end_record(&mut written, begin, end);
        }
        for (count, end) in ends.into_iter().enumerate() {
            let (mut one_by_one, mut together) = (JournalDoor::default(), JournalDoor::default());
            for part in &parts[..count] {
                one_by_one.notes().record(&[part]);
            }
            // Behind what is there already, or alone.
            together.notes().records(written[..end].to_vec());
            assert_eq!(one_by_one.records, together.records);
            together.notes().records(written[..end].to_vec());
            assert_eq!(together.records, written[..end].repeat(2));
        }
    }

    #[test]
    fn what_a_caller_brings_comes_last_and_only_if_the_rest_is_taken() {
        let mut door = JournalDoor::default();
        door.notes().record(&[b"noted"]);
        assert!(door.take(Some(b"brought"), |_, _| false).is_none());
        let noted = door.records.len();
        let all = |_: &[Key], bytes| bytes == noted + b"brought".len();
        let taken = door.take(Some(b"brought"), all).expect("taken");
        let mut wanted = JournalDoor::default();
        wanted.notes().record(&[b"noted"]);
        wanted.notes().record(&[b"brought"]);
        assert_eq!(taken.records, wanted.records);
        assert!(door.records.is_empty());
    }
}
