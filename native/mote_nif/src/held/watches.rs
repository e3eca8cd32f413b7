//! The timers of a machine's actors that fire when processes end, by process.
//!
//! One process of the BEAM, the machine's watcher, monitors each of these processes once, however many timers wait for it
//! (lib/mote/machine/watcher.ex). The timers themselves are armed like any other. This file only knows which they are.
//!
//! Invariants:
//! 1. The watcher is notified of a process when the first timer for it is noted, under the lock under which its end takes all of them
//!    out. So each timer is fired by the end that the watcher hears of, or the watcher is notified anew after that.
//! 2. A timer that was cancelled stays noted until its process ends or the watcher sweeps, which it does when twice as many are noted as
//!    were found armed at the last time: so at most as many as are armed, and some more, are noted in vain. What is noted while it sweeps
//!    counts for the next time.
//! 3. The notes are charged to the machine.
use mote_vm::base::ids::TimerId;
use mote_vm::boundary::outbox::{Account, Charge};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::{LocalPid, Term};
use std::sync::OnceLock;

/// Timers that are noted before the first sweep.
const FEW: usize = 4_096;

/// A process, as what tells processes apart.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ProcessKey {
    /// A process of this node.
    Here(LocalPid),
    /// The pid of a process of another node, written out.
    Abroad(Vec<u8>),
}

impl ProcessKey {
    /// The key of a pid.
    pub fn of(pid: Term<'_>) -> ProcessKey {
        match pid.decode::<LocalPid>() {
            Ok(process) => ProcessKey::Here(process),
            Err(_) => ProcessKey::Abroad(pid.to_binary().as_slice().to_vec()),
        }
    }
}

#[derive(Default)]
struct Noted {
    timers: FxHashMap<ProcessKey, Vec<TimerId>>,
    count: usize,
    /// Number that may be noted before the watcher must sweep.
    most: usize,
    /// True if the watcher knows that it must sweep.
    told: bool,
    charged: Option<(usize, Charge)>,
}

/// The timers of one machine that wait for the ends of processes.
#[derive(Default)]
pub struct Watches {
    /// The process that monitors, and the account that is charged.
    watcher: OnceLock<(LocalPid, Account)>,
    noted: Mutex<Noted>,
}

impl Watches {
    /// The machine's watcher.
    pub fn watched_by(&self, watcher: LocalPid, account: Account) {
        // The first one stays.
        let _ = self.watcher.set((watcher, account));
    }

    /// Notes a timer that must fire when the process has ended. `monitor` tells the watcher of the process if it is a new one, and
    /// `sweep` tells it if there is something to sweep.
    pub fn note(
        &self,
        key: ProcessKey,
        timer: TimerId,
        monitor: impl FnOnce(&LocalPid),
        sweep: impl FnOnce(&LocalPid),
    ) {
        let Some((watcher, account)) = self.watcher.get() else {
            return;
        };
        let mut noted = self.noted.lock();
        let mut new = false;
        let timers = noted.timers.entry(key).or_insert_with(|| {
            new = true;
            Vec::new()
        });
        timers.push(timer);
        noted.count += 1;
        noted.charge(account);
        // Under the lock: invariant 1.
        if new {
            monitor(watcher);
        }
        if noted.is_much() && !std::mem::replace(&mut noted.told, true) {
            sweep(watcher);
        }
    }

    /// Takes the timers that wait for the end of a process, which has come.
    pub fn ended(&self, key: &ProcessKey) -> Vec<TimerId> {
        let mut noted = self.noted.lock();
        let timers = noted.timers.remove(key).unwrap_or_default();
        noted.count -= timers.len();
        if let Some((_, account)) = self.watcher.get() {
            noted.charge(account);
        }
        timers
    }

    /// Forgets the timers that are not armed any more. Returns the processes of which none is left, and whether so much was noted
    /// meanwhile that the watcher is to sweep again.
    pub fn sweep(&self, is_armed: impl Fn(TimerId) -> bool) -> (Vec<ProcessKey>, bool) {
        let (mut gone, mut armed) = (Vec::new(), 0);
        let keys: Vec<_> = self.noted.lock().timers.keys().cloned().collect();
        for key in keys {
            let mut noted = self.noted.lock();
            let Some(timers) = noted.timers.get_mut(&key) else {
                continue;
            };
            let before = timers.len();
            timers.retain(|timer| is_armed(*timer));
            timers.shrink_to_fit();
            let left = timers.len();
            noted.count -= before - left;
            armed += left;
            if left == 0 {
                noted.timers.remove(&key);
                gone.push(key);
            }
        }
        let mut noted = self.noted.lock();
        noted.most = 2 * armed;
        noted.told = noted.is_much();
        if let Some((_, account)) = self.watcher.get() {
            noted.charge(account);
        }
        (gone, noted.told)
    }
}

impl Noted {
    fn is_much(&self) -> bool {
        self.count > self.most.max(FEW)
    }

    /// Charges for the timers noted, in steps, so that most calls have nothing to change.
    fn charge(&mut self, account: &Account) {
        let steps = self.count.div_ceil(FEW);
        if self.charged.as_ref().map_or(0, |(steps, _)| *steps) != steps {
            // A list has room for twice as many as are in it.
            let bytes = steps * FEW * 2 * size_of::<TimerId>();
            self.charged = (steps > 1).then(|| (steps, account.charge_anyway(bytes)));
        }
    }
}
