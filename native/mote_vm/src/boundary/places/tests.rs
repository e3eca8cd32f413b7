//! Every order of the steps of workers, of their manager and of those that bring turns, in small worlds: each turn is taken once
//! and ends once, none waits without a worker on its way, and closing a desk gives everything back.
use super::*;
use std::collections::{BTreeMap, HashSet};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Doing {
    /// Begun, or woken: it is about to look.
    Comes,
    /// About to look after a turn.
    LooksAgain,
    Waits,
    Runs(u64),
    Dead,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Word {
    Wake(usize),
    Closed(usize),
    Kill(usize),
    /// To the manager.
    Start,
    Down(usize),
    Abort(u64),
}

/// Steps that can happen next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put,
    Goes(usize),
    Arrives(Word),
    // What may happen or not: the rest has to be right without it.
    Leave(usize),
    Kill(usize),
    Overdue(u64),
    Close,
}

/// Counts of the events in a turn's life.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Fate {
    taken: u32,
    ended: u32,
    given_back: u32,
}

#[derive(Clone)]
struct World {
    places: Places<usize, u64, u64>,
    /// Turns with these numbers are the last of their workers.
    lasts: u64,
    to_put: u64,
    fates: BTreeMap<u64, Fate>,
    workers: Vec<Doing>,
    words: Vec<Word>,
    blows: usize,
    most_blows: usize,
    may_close: bool,
}

impl Clone for Places<usize, u64, u64> {
    fn clone(&self) -> Self {
        Places {
            waiting: self.waiting.clone(),
            idle: self.idle.clone(),
            running: self.running.clone(),
            last: self.last.clone(),
            ..*self
        }
    }
}

impl World {
    fn new(to_put: u64, lasts: u64, blows: usize, may_close: bool) -> World {
        World {
            places: Places::default(),
            lasts,
            to_put,
            fates: BTreeMap::new(),
            workers: Vec::new(),
            words: Vec::new(),
            blows,
            most_blows: blows,
            may_close,
        }
    }

    /// Returns a key that is the same for worlds in which the same can happen.
    fn key(&self) -> String {
        let places = &self.places;
        let running: BTreeMap<_, _> = places.running.iter().collect();
        let last: BTreeMap<_, _> = places.last.iter().collect();
        let mut words = self.words.clone();
        words.sort();
        let counts = (places.coming, places.asked, places.closed);
        let desk = (&places.waiting, &places.idle, running, last, counts);
        let rest = (self.to_put, &self.fates, self.blows, self.may_close);
        format!("{desk:?}{rest:?}{:?}{words:?}", self.workers)
    }

    fn certain_steps(&self) -> Vec<Step> {
        let mut steps: Vec<_> = self.words.iter().map(|word| Step::Arrives(*word)).collect();
        if self.to_put > 0 {
            steps.push(Step::Put);
        }
        for (worker, doing) in self.workers.iter().enumerate() {
            if !matches!(doing, Doing::Waits | Doing::Dead) {
                steps.push(Step::Goes(worker));
            }
        }
        steps
    }

    fn possible_steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (worker, doing) in self.workers.iter().enumerate() {
            if *doing == Doing::Waits {
                steps.push(Step::Leave(worker));
            }
            if *doing != Doing::Dead && self.blows > 0 {
                steps.push(Step::Kill(worker));
            }
        }
        if self.blows > 0 {
            let running = self.places.running();
            steps.extend(running.map(|(number, ..)| Step::Overdue(number)));
        }
        if self.may_close {
            steps.push(Step::Close);
        }
        steps
    }

    fn go(&mut self, step: Step) {
        match step {
            Step::Put => {
                let number = self.to_put;
                self.to_put -= 1;
                self.fates.insert(number, Fate::default());
                match self.places.put(number) {
                    Ok(called) => self.call(called),
                    Err(number) => self.fate(number).given_back += 1,
                }
            }
            Step::Goes(worker) => self.goes(worker),
            Step::Arrives(word) => {
                let at = self.words.iter().position(|w| *w == word).expect("sent");
                self.words.remove(at);
                self.arrives(word);
            }
            Step::Leave(worker) => {
                if self.places.leave(worker) {
                    self.die(worker);
                }
            }
            Step::Kill(worker) => {
                self.blows -= 1;
                self.die(worker);
            }
            Step::Overdue(number) => {
                self.blows -= 1;
                let mut running = self.places.running();
                let (_, worker, _) = running.find(|(n, ..)| *n == number).expect("runs");
                drop(running);
                if self.end(number) {
                    self.words.push(Word::Kill(worker));
                }
            }
            Step::Close => {
                self.may_close = false;
                let rest = self.places.close();
                for number in rest.waiting {
                    self.fate(number).given_back += 1;
                }
                self.words.extend(rest.idle.into_iter().map(Word::Closed));
                for (worker, number) in rest.running {
                    self.fate(number).given_back += 1;
                    self.words.push(Word::Kill(worker));
                }
            }
        }
    }

    fn goes(&mut self, worker: usize) {
        let comes = match self.workers[worker] {
            Doing::Runs(number) => {
                // One that finds its turn ended takes no other: it is about to be killed.
                let goes_on = self.end(number) && number > self.lasts;
                match goes_on {
                    true => self.workers[worker] = Doing::LooksAgain,
                    false => self.die(worker),
                }
                return;
            }
            doing => doing == Doing::Comes,
        };
        let lasts = self.lasts;
        let found = self.places.next(worker, comes, |number| TakenTurn {
            number,
            last: number <= lasts,
            running: number,
            fetched: number,
        });
        match found {
            Found::Turn(number) => {
                self.fate(number).taken += 1;
                self.workers[worker] = Doing::Runs(number);
            }
            Found::Nothing => self.workers[worker] = Doing::Waits,
            Found::Closed => self.die(worker),
        }
    }

    fn arrives(&mut self, word: Word) {
        match word {
            // One that is dead hears nothing.
            Word::Wake(worker) if self.workers[worker] == Doing::Waits => {
                self.workers[worker] = Doing::Comes;
            }
            Word::Closed(worker) if self.workers[worker] == Doing::Waits => self.die(worker),
            Word::Kill(worker) if self.workers[worker] != Doing::Dead => self.die(worker),
            Word::Wake(_) | Word::Closed(_) | Word::Kill(_) => {}
            Word::Start => {
                let more = self.places.take_asked();
                (0..more).for_each(|_| self.workers.push(Doing::Comes));
            }
            Word::Down(worker) => {
                let (number, called) = self.places.lost(worker);
                self.call(called);
                self.words.extend(number.map(Word::Abort));
            }
            Word::Abort(number) => {
                self.end(number);
            }
        }
    }

    fn call(&mut self, called: Summons<usize>) {
        match called {
            Summons::Worker(worker) => self.words.push(Word::Wake(worker)),
            Summons::Manager => self.words.push(Word::Start),
            Summons::Nobody => {}
        }
    }

    fn die(&mut self, worker: usize) {
        self.workers[worker] = Doing::Dead;
        self.words.push(Word::Down(worker));
    }

    fn end(&mut self, number: u64) -> bool {
        let ended = self.places.end(number).is_some();
        assert!(
            !ended || !self.places.closed,
            "a turn ends after it was given back"
        );
        self.fate(number).ended += ended as u32;
        ended
    }

    fn fate(&mut self, number: u64) -> &mut Fate {
        self.fates.get_mut(&number).expect("was put")
    }

    /// Checks what holds at any moment.
    fn check(&self) {
        for (number, fate) in &self.fates {
            assert!(fate.taken <= 1, "turn {number} is taken twice");
            assert!(fate.ended <= 1, "turn {number} ends twice");
        }
        let on_their_way = |doing: &&Doing| matches!(doing, Doing::Comes | Doing::LooksAgain);
        let about_to_be_heard_of = |word: &&Word| matches!(word, Word::Wake(_) | Word::Down(_));
        let coming = self.workers.iter().filter(on_their_way).count()
            + self.words.iter().filter(about_to_be_heard_of).count()
            + self.places.asked;
        assert!(
            self.places.coming <= coming,
            "fewer come than are counted on"
        );
        let wanted = self.fates.len() + self.most_blows - self.blows;
        assert!(
            self.workers.len() <= wanted,
            "more workers begin than turns and blows call for"
        );
    }

    /// Checks what holds when nothing has to happen any more.
    fn check_at_rest(&self) {
        for (number, fate) in &self.fates {
            let ends = fate.ended + fate.given_back;
            assert_eq!(
                ends, 1,
                "turn {number} ends or is given back, once: {fate:?}"
            );
        }
        let all_end = self.workers.iter().all(|doing| *doing == Doing::Dead);
        assert!(all_end || !self.places.closed, "a worker waits for ever");
        assert!(self.places.last.is_empty(), "a worker is not forgotten");
    }
}

/// Goes every way; how many worlds there are.
fn every_order(first: World) -> usize {
    let mut seen = HashSet::from([first.key()]);
    let mut open = vec![first];
    while let Some(world) = open.pop() {
        world.check();
        let certain = world.certain_steps();
        if certain.is_empty() {
            world.check_at_rest();
        }
        for step in certain.into_iter().chain(world.possible_steps()) {
            let mut next = world.clone();
            next.go(step);
            if seen.insert(next.key()) {
                open.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn turns_of_workers_that_are_reused() {
    assert!(every_order(World::new(3, 0, 1, false)) > 1_000);
}

#[test]
fn turns_that_are_the_last_of_their_workers() {
    assert!(every_order(World::new(3, 3, 1, false)) > 1_000);
}

#[test]
fn turns_of_both_kinds_whose_workers_are_killed() {
    assert!(every_order(World::new(2, 1, 2, false)) > 1_000);
}

#[test]
fn what_is_closed_gives_everything_back() {
    assert!(every_order(World::new(2, 1, 1, true)) > 1_000);
}
