//! A system thread that waits for what it is to run: all threads of a sponsor are there before the first one begins, so
//! that a sponsor has all of them or there is no sponsor.
use super::Ending;
use crate::native::STACK_BYTES;
use crate::thread::Dispatch;
use std::io;
use std::sync::mpsc::{channel, Sender};
use std::thread::{Builder, JoinHandle};

/// See the head of this file. Ends without having run anything if it is dropped.
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
                bind(core);
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

/// What waits for the end of a thread.
pub(super) fn ending(thread: Option<JoinHandle<()>>) -> Ending {
    Box::new(|| {
        // A thread catches its own panics; there is nothing to learn from the result.
        let _ = thread.map(JoinHandle::join);
    })
}

/// Binds the calling thread to a core, if one is given. A core that there is not binds to none.
fn bind(core: Option<usize>) {
    if let Some(id) = core {
        core_affinity::set_for_current(core_affinity::CoreId { id });
    }
}
