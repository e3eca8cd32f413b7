//! One message for several processes, which is copied to each of them.
use crate::codec::letters::letter;
use crate::held::mailbox::{Fan, FanMessage};
use crate::term::assembly::Assembled;
use crate::term::send::send_as_nobody;
use rustler::Env;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The time in which a normal scheduler copies one message to several processes. Dirty ones go on: nothing tells beforehand how long a
/// copy takes.
const COPYING: Duration = Duration::from_millis(1);

impl FanMessage {
    /// Returns the message if it is none that is made for each call.
    pub fn as_assembled(&self) -> Option<&Assembled> {
        match self {
            FanMessage::Letter(_) => None,
            FanMessage::Made(message) => Some(message),
        }
    }
}

impl Fan {
    /// Sends the message to some of its processes, in a NIF: to those that it comes to in that time, unless it `may_take_long`. Returns how
    /// many those are, and how many of them are not there.
    pub fn send_some(
        &mut self,
        env: Env<'_>,
        some: Range<usize>,
        may_take_long: bool,
    ) -> (usize, u64) {
        let message = match &mut self.message {
            FanMessage::Letter(letters) => letter(env, letters).as_c_arg(),
            FanMessage::Made(message) => message.whole(),
        };
        let may_stop = !may_take_long && self.message.as_assembled().is_some();
        let until = may_stop.then(|| Instant::now() + COPYING);
        let (mut sent, mut gone) = (0, 0);
        for pid in &self.pids[some] {
            // SAFETY: the message belongs to the environment of the running NIF, or is alive as long as `self`; it is copied.
            gone += u64::from(unsafe { !send_as_nobody(pid, None, message) });
            sent += 1;
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        (sent, gone)
    }
}
