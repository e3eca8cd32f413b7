//! `mote_stateright N`: two-phase commit of N resource managers (Gray and Lamport, "Consensus on Transaction Commit", 2006), checked breadth first
//! on one thread. Prints the nanoseconds that it took, the states that differ, and those that were generated.
use stateright::{Checker, Model, Property};
use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Phase {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Message {
    Prepared(usize),
    Commit,
    Abort,
}

/// Messages stay for ever, so it is no part of a state whether one was received.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Situation {
    resources: Vec<Phase>,
    manager: Phase,
    heard: Vec<bool>,
    messages: BTreeSet<Message>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Hear(usize),
    Decide(Message),
    Prepare(usize),
    GiveUp(usize),
    Obey(usize, Message),
}

struct Transaction(usize);

impl Model for Transaction {
    type State = Situation;
    type Action = Step;

    fn init_states(&self) -> Vec<Situation> {
        vec![Situation {
            resources: vec![Phase::Working; self.0],
            manager: Phase::Working,
            heard: vec![false; self.0],
            messages: BTreeSet::new(),
        }]
    }

    fn actions(&self, now: &Situation, steps: &mut Vec<Step>) {
        let sent = |message| now.messages.contains(&message);
        if now.manager == Phase::Working {
            steps.push(Step::Decide(Message::Abort));
            if now.heard.iter().all(|heard| *heard) {
                steps.push(Step::Decide(Message::Commit));
            }
        }
        for n in 0..self.0 {
            if now.manager == Phase::Working && sent(Message::Prepared(n)) {
                steps.push(Step::Hear(n));
            }
            if now.resources[n] == Phase::Working {
                steps.extend([Step::Prepare(n), Step::GiveUp(n)]);
            }
            for message in [Message::Commit, Message::Abort] {
                if sent(message) {
                    steps.push(Step::Obey(n, message));
                }
            }
        }
    }

    fn next_state(&self, now: &Situation, step: Step) -> Option<Situation> {
        let mut next = now.clone();
        let decided = |message| match message {
            Message::Commit => Phase::Committed,
            _ => Phase::Aborted,
        };
        match step {
            Step::Hear(n) => next.heard[n] = true,
            Step::Decide(message) => {
                next.manager = decided(message);
                next.messages.insert(message);
            }
            Step::Prepare(n) => {
                next.resources[n] = Phase::Prepared;
                next.messages.insert(Message::Prepared(n));
            }
            Step::GiveUp(n) => next.resources[n] = Phase::Aborted,
            Step::Obey(n, message) => next.resources[n] = decided(message),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Transaction>> {
        vec![Property::always("consistent", |_, now: &Situation| {
            let is = |phase| now.resources.contains(&phase);
            !(is(Phase::Committed) && is(Phase::Aborted))
        })]
    }
}

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let begin = Instant::now();
    let checker = Transaction(count.unwrap_or(3)).checker().threads(1);
    let checker = checker.spawn_bfs().join();
    let took = begin.elapsed().as_nanos();
    checker.assert_properties();
    let (states, generated) = (checker.unique_state_count(), checker.state_count());
    println!("{took} {states} {generated}");
}
