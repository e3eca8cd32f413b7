//! A system thread that waits for its work: all threads of a sponsor are there before the first one begins, so that a sponsor has
//! all of them or there is no sponsor.
use crate::native::STACK_BYTES;
use crate::platform::cores;
use crate::threads::shared::Ending;
use crate::threads::thread::Dispatch;
use std::io;
use std::sync::mpsc::{channel, Sender};
use std::thread::{Builder, JoinHandle};

/// Bytes of a thread's name that Linux keeps.
const SHOWN: usize = 15;

/// `mote-<machine>-<sponsor>-<number>`, so short that the number is seen whole everywhere, and of the rest the sponsor before
/// the machine, for which one byte is kept.
pub(super) fn thread_name(machine: &str, sponsor: &str, number: usize) -> String {
    // A name that the system takes holds no zero bytes.
    let [machine, sponsor] = [machine, sponsor].map(|name| name.replace('\0', ""));
    let room = SHOWN.saturating_sub(format!("mote---{number}").len());
    let sponsor = shortened(&sponsor, room.saturating_sub(1));
    let machine = shortened(&machine, room - sponsor.len());
    format!("mote-{machine}-{sponsor}-{number}")
}

/// Shortens a name to at most `bytes` bytes, in whole characters. Of a dotted name, such as `MyApp.Jobs`, it keeps the last
/// part. If that is too long, it keeps the beginning and the end, since similar names often differ in their last letter.
fn shortened(name: &str, bytes: usize) -> String {
    if name.len() <= bytes {
        return name.to_string();
    }
    let parts = &mut name.rsplit('.');
    let name = parts.find(|part| !part.is_empty()).unwrap_or(name);
    if name.len() <= bytes {
        return name.to_string();
    }
    let end = &name[name.ceil_char_boundary(name.len() - (bytes + 1) / 3)..];
    let begin = &name[..name.floor_char_boundary(bytes - end.len())];
    format!("{begin}{end}")
}

/// A system thread that has started, and waits for what it is to run. Ends without having run anything if it is dropped.
pub(super) struct Recruit {
    work: Option<Sender<Dispatch>>,
    thread: Option<JoinHandle<()>>,
}

impl Recruit {
    /// Starts the thread, to be bound to a core if one is given.
    pub(super) fn new(name: String, core: Option<usize>) -> io::Result<Recruit> {
        let (work, begin) = channel::<Dispatch>();
        // Address space; its pages are taken when touched.
        let builder = Builder::new().name(name).stack_size(STACK_BYTES);
        let thread = builder.spawn(move || {
            if let Ok(dispatch) = begin.recv() {
                if let Some(core) = core {
                    cores::bind(core);
                }
                dispatch.run(core.is_some());
            }
        })?;
        Ok(Recruit {
            work: Some(work),
            thread: Some(thread),
        })
    }

    /// Lets it begin; what it gives waits for its end.
    pub(super) fn begin(mut self, dispatch: Dispatch) -> Ending {
        if let Some(work) = self.work.take() {
            // It waits for nothing else.
            let _ = work.send(dispatch);
        }
        ending(self.thread.take())
    }
}

impl Drop for Recruit {
    fn drop(&mut self) {
        drop(self.work.take());
        ending(self.thread.take())();
    }
}

/// Returns a call that waits for the end of a thread.
pub(super) fn ending(thread: Option<JoinHandle<()>>) -> Ending {
    Box::new(|| {
        // A thread catches its own panics; there is nothing to learn from the result.
        let _ = thread.map(JoinHandle::join);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_told_from_others_within_the_bytes_that_are_kept() {
        for (machine, sponsor, number, name) in [
            ("m", "main", 1, "mote-m-main-1"),
            ("MyApp.Mote", "main", 1, "mote-Moe-main-1"),
            ("MyApp.Mote", "multi", 12, "mote-M-multi-12"),
            ("a", "in_background", 1024, "mote-a-ind-1024"),
            ("MyApp.Mote", "in_background", 7, "mote-M-in_bnd-7"),
            ("MyApp.Mote", "worker_a", 1, "mote-M-work_a-1"),
            ("MyApp.Mote", "worker_b", 1, "mote-M-work_b-1"),
            ("MyApp.Mote", "future_1", 1, "mote-M-futu_1-1"),
            ("MyApp.Mote", "future_12", 1, "mote-M-futu12-1"),
            ("MyApp.Jobs", "Elixir.MyApp.Io", 1, "mote-Jobs-Io-1"),
            ("jobs_1", "main", 1, "mote-jo1-main-1"),
            ("........", "main.io...", 1, "mote-.....-io-1"),
            ("größer", "ß", 1, "mote-grer-ß-1"),
            ("ßß", "ßßßß", 1, "mote--ßßß-1"),
            ("a\0b", "c\0", 2, "mote-ab-c-2"),
            ("", "main", 1, "mote--main-1"),
        ] {
            assert_eq!(thread_name(machine, sponsor, number), name);
            assert!(name.len() <= SHOWN);
        }
    }
}
