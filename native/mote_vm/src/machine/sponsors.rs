//! Sponsors and their threads come and go.
//!
//! Invariants:
//! 1. A sponsor has all of its threads, or it is not added and nothing is left of it.
//! 2. `threads` is locked from when a sponsor can be found until its threads are in it, and while one is taken out: so a
//!    caller that removes a sponsor finds all of its threads.
use super::recruit::{ending, thread_name, Recruit};
use super::{sponsor_info, Machine};
use crate::base::atom::Atom;
use crate::base::ids::ThreadNumber;
use crate::boundary::room::Room;
use crate::boundary::sockets::Sockets;
use crate::machine::contract::{RemoveError, SponsorInfo, StartError};
use crate::native::STACK_BYTES;
use crate::platform::poller::Poller;
use crate::threads::inbox::Entry;
use crate::threads::net::own::Net;
use crate::threads::seeded::{Fibre, Scheduler};
use crate::threads::sponsor::{Sponsor, SponsorConfig};
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::interpreter::Interpreter;
use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::channel;
use std::sync::Arc;

impl Machine {
    /// Adds a sponsor and starts its threads.
    pub fn add_sponsor(&self, config: &SponsorConfig) -> Result<(), StartError> {
        if self.is_stopping() {
            return Err(StartError::Stopped);
        }
        if config.io && self.0.seeded.is_some() {
            return Err(StartError::SeededSockets);
        }
        // A seeded machine decides itself what several threads would leave open.
        let count = match (self.0.seeded.is_some(), config.most_away) {
            (true, _) | (_, Some(_)) => 1,
            _ => config.threads.max(1),
        };
        let interpreters: Option<Vec<_>> = (0..count).map(|_| Interpreter::new()).collect();
        let interpreters = interpreters.ok_or(StartError::Memory)?;
        // Invariant 1: what can be refused comes first.
        let recruits = match self.0.seeded {
            Some(_) => Vec::new(),
            None => self.recruits(config, count)?,
        };
        let mut recruits = recruits.into_iter();
        let pollers = (0..if config.io { count } else { 0 }).map(|_| Poller::new());
        let pollers = pollers.collect::<Result<Vec<_>, _>>();
        let mut pollers = pollers.map_err(StartError::Thread)?.into_iter();
        let stations: Vec<_> = (0..count).map_while(|_| self.stations().open()).collect();
        let mut threads = self.0.threads.lock();
        let added = match stations.len() == count {
            true => self.0.sponsors.add(config.name, |id| {
                let room = Arc::new(Room::new(config.inbox, config.patient));
                stations.iter().for_each(|station| station.open(id, &room));
                let mut sponsor = Sponsor::new(id, config.name, stations.clone(), room);
                sponsor.most_away = config.most_away;
                sponsor.net = config.io.then(Arc::default);
                sponsor.partition = config.partition;
                sponsor
            }),
            false => Err(StartError::TooManyThreads),
        };
        let sponsor = added.inspect_err(|_| {
            for station in &stations {
                self.stations().close(station.number);
            }
        })?;
        for (n, (interpreter, station)) in interpreters.into_iter().zip(stations).enumerate() {
            let number = station.number;
            let context = ThreadContext {
                machine: self.clone(),
                sponsor: sponsor.clone(),
                station,
            };
            let seed = match &self.0.seeded {
                Some(seeded) => seeded.seed ^ u64::from(number),
                None => RandomState::new().hash_one(n),
            };
            let heap = self.0.leases.lend_new().ok_or(StartError::Stopped)?;
            let turn = context.turn(heap, seed);
            let mut dispatch = Dispatch::new(context, turn, interpreter);
            if let Some((poller, counts)) = pollers.next().zip(sponsor.net.clone()) {
                let quota = self.pool().quota.clone();
                let sockets = Sockets::new(Arc::new(poller), quota, counts);
                dispatch.net = Some(Box::new(Net::new(Arc::new(sockets))));
            }
            if let Some(seeded) = &self.0.seeded {
                dispatch.seeded.choices = Some(seeded.choices.clone());
                // Turns that are away together end in any order.
                dispatch.seeded.shuffled = config.threads.max(config.most_away.unwrap_or(1)) > 1;
                let (told, ended) = channel();
                seeded.line.add(Fibre::new(dispatch, told));
                let told = move || {
                    // By hanging up: there is nothing to receive.
                    let _ = ended.recv();
                };
                threads.push((number, Box::new(told)));
            } else if let Some(recruit) = recruits.next() {
                threads.push((number, recruit.begin(dispatch)));
            }
        }
        Ok(())
    }

    /// The system threads of a sponsor, none of which has begun.
    fn recruits(&self, config: &SponsorConfig, count: usize) -> Result<Vec<Recruit>, StartError> {
        let named = (0..count).map(|n| {
            let core = config.cores.get(n % config.cores.len().max(1)).copied();
            let name = thread_name(&self.0.name, config.name.name(), n + 1);
            Recruit::new(name, core)
        });
        named.collect::<Result<_, _>>().map_err(StartError::Thread)
    }

    /// Starts the system thread of a seeded machine.
    pub(super) fn start_scheduler(&self) -> Result<(), StartError> {
        if let Some(seeded) = &self.0.seeded {
            let scheduler = Scheduler::new(self.clone(), seeded.clone());
            let name = thread_name(&self.0.name, "seeded", 1);
            let thread = std::thread::Builder::new().name(name);
            let thread = thread
                .stack_size(STACK_BYTES)
                .spawn(move || scheduler.run());
            let thread = thread.map_err(StartError::Thread)?;
            self.0.threads.lock().push((0, ending(Some(thread))));
        }
        Ok(())
    }

    /// Returns the number of choices that a seeded machine has made; `None` for any other.
    pub fn choices(&self) -> Option<u64> {
        self.0.seeded.as_ref().map(|seeded| seeded.choices.made())
    }

    /// Removes a sponsor: what is queued there moves to the first one. Waits for its threads to end, which give up a long turn;
    /// must not be called on a dispatch thread. Returns what it has done in all.
    pub fn remove_sponsor(&self, name: Atom) -> Result<SponsorInfo, RemoveError> {
        let mut threads = self.0.threads.lock();
        let removed = {
            let mut ended = self.0.ended.lock();
            let removed = self.0.sponsors.remove(name);
            removed.inspect(|sponsor| ended.is_going(sponsor))
        };
        let Some(sponsor) = removed else {
            return Err(match self.0.sponsors.by_name(name) {
                Some(_) => RemoveError::First,
                None => RemoveError::Unknown,
            });
        };
        for station in &sponsor.stations {
            self.push(station, Entry::Retire);
        }
        let mine = |number: ThreadNumber| sponsor.stations.iter().any(|s| s.number == number);
        let (ending, going_on) = std::mem::take(&mut *threads)
            .into_iter()
            .partition::<Vec<_>, _>(|(number, _)| mine(*number));
        *threads = going_on;
        drop(threads);
        for (_, ended) in ending {
            ended();
        }
        // Messages that came too late are with the first sponsor, and callers that wait for room here may find that out.
        sponsor.room.close();
        let mut ended = self.0.ended.lock();
        // There are no threads that could sleep, nor queues.
        let done = SponsorInfo {
            asleep: 0,
            queue_bytes: 0,
            ..sponsor_info(&sponsor)
        };
        ended.is_gone(&sponsor);
        drop(ended);
        if self.0.sponsors.recycle(&sponsor) {
            for station in &sponsor.stations {
                self.stations().close(station.number);
            }
        }
        Ok(done)
    }
}
