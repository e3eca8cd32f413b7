//! Loom models: no wake-up is lost, and nothing that was pushed.
use super::*;
use crate::threads::presence::Presence;
use crate::threads::quiescence::Quiet;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::value::Value;
use loom::sync::Arc;
use loom::thread;

/// A sender pushes and wakes; the thread announces its sleep and looks. It never parks beside an entry.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::default());
        let presence = Arc::new(Presence::new());
        presence.wake();
        let unparked = Arc::new(AtomicBool::new(false));
        let (i, p, u) = (inbox.clone(), presence.clone(), unparked.clone());
        let sender = thread::spawn(move || {
            let wakes = i.push(Entry::Retire).ok().expect("open");
            if wakes && p.is_asleep() {
                u.store(true, SeqCst);
            }
        });
        presence.sleep();
        let parks = !inbox.is_pending();
        sender.join().unwrap();
        assert!(!parks || unparked.load(SeqCst));
    });
}

/// One of two senders finds the inbox announced already and leaves the waking to the other. The thread hears of whatever it
/// did not drain before it slept.
#[test]
fn who_announces_wakes_for_both() {
    loom::model(|| {
        let shared = Arc::new((Inbox::default(), Presence::new(), AtomicBool::new(false)));
        shared.1.wake();
        let senders = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (inbox, presence, unparked) = &*shared;
                let wakes = inbox.push(Entry::Retire).ok().expect("open");
                if wakes && presence.is_asleep() {
                    unparked.store(true, SeqCst);
                }
            })
        });
        let (inbox, presence, unparked) = &*shared;
        let mut contents = Contents::default();
        inbox.drain(&mut contents);
        presence.sleep();
        let parks = !inbox.is_pending();
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        assert!(contents.len() == 2 || !parks || unparked.load(SeqCst));
    });
}

/// A drain that leaves something behind keeps `pending` set.
#[test]
fn nothing_is_forgotten() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::default());
        let i = inbox.clone();
        let sender = thread::spawn(move || {
            assert!(i.push(Entry::Retire).is_ok());
            assert!(i.push(Entry::Retire).is_ok());
        });
        let mut taken = 0;
        while taken < 2 {
            if inbox.is_pending() {
                let mut contents = Contents::default();
                inbox.drain(&mut contents);
                taken += contents.len();
            } else {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

/// Two send while the thread drains: the inbox counts as one thing to do whenever it is not empty, and as none then.
#[test]
fn it_counts_while_anything_is_in_it() {
    loom::model(|| {
        let quiescence = std::sync::Arc::<Quiescence>::default();
        let inbox = Inbox::new(std::sync::Arc::default(), quiescence.clone());
        let inbox = Arc::new(inbox);
        let senders = [(); 2].map(|()| {
            let inbox = inbox.clone();
            thread::spawn(move || assert!(inbox.push(Entry::Retire).is_ok()))
        });
        let mut contents = Contents::default();
        inbox.drain(&mut contents);
        quiescence.done(contents.outstanding());
        let taken = contents.len();
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        assert_eq!(quiescence.is_quiet(), taken == 2);
        contents.reset();
        inbox.drain(&mut contents);
        quiescence.done(contents.outstanding());
        assert!(quiescence.is_quiet());
    });
}

/// A sponsor is removed: what its thread finds when it closes goes to the heir, and so does what comes too late.
#[test]
fn nothing_is_lost_when_an_inbox_closes() {
    loom::model(|| {
        let inboxes = Arc::new([Inbox::default(), Inbox::default()]);
        let i = inboxes.clone();
        let sender = thread::spawn(move || {
            for _ in 0..2 {
                let [inbox, heir] = &*i;
                if let Err(entry) = inbox.push(Entry::Retire) {
                    assert!(heir.push(entry).is_ok());
                }
            }
        });
        let [inbox, heir] = &*inboxes;
        let mut contents = Contents::default();
        inbox.drain(&mut contents);
        let mut taken = contents.len();
        contents = Contents::default();
        inbox.close(&mut contents);
        for entry in contents.entries.drain(..) {
            assert!(heir.push(entry).is_ok());
        }
        sender.join().unwrap();
        assert_eq!(inbox.figures().0, 0);
        heir.drain(&mut contents);
        taken += contents.len();
        assert_eq!(taken, 2);
    });
}

/// A thread falls asleep while somebody sends to it and waits for quiet: told when the message was taken, not
/// before, and for certain.
#[test]
fn quiet_comes_when_a_sleeper_has_done_what_was_sent() {
    loom::model(|| {
        let quiescence = std::sync::Arc::<Quiescence>::default();
        let inbox = Inbox::new(std::sync::Arc::default(), quiescence.clone());
        let shared = Arc::new((inbox, Presence::new(), quiescence));
        let taken = Arc::new(AtomicBool::new(false));
        shared.2.add(1);
        shared.1.wake();
        let (s, t) = (shared.clone(), taken.clone());
        let sleeper = thread::spawn(move || {
            let (inbox, presence, quiescence) = &*s;
            loop {
                presence.sleep();
                quiescence.done(1);
                if !inbox.is_pending() {
                    thread::park();
                }
                quiescence.add(1);
                presence.wake();
                let mut contents = Contents::default();
                inbox.drain(&mut contents);
                if contents.len() > 0 {
                    t.store(true, SeqCst);
                    quiescence.done(contents.outstanding());
                    presence.sleep();
                    return quiescence.done(1);
                }
            }
        });
        let (inbox, presence, quiescence) = &*shared;
        let wakes = inbox.push(Entry::Retire).ok().expect("open");
        if wakes && presence.is_asleep() {
            sleeper.thread().unpark();
        }
        let told = Arc::new(AtomicBool::new(false));
        let t = told.clone();
        quiescence.wait(
            Quiet::Whole,
            Box::new(move || {
                assert!(taken.load(SeqCst));
                t.store(true, SeqCst);
            }),
        );
        sleeper.join().unwrap();
        assert!(told.load(SeqCst));
    });
}

/// An actor of thread 1, and the inboxes of threads 1 and 2.
struct Moving {
    inboxes: [Inbox; 2],
    actor: Actor,
}

impl Moving {
    fn new() -> Arc<Moving> {
        Arc::new(Moving {
            inboxes: [Inbox::default(), Inbox::default()],
            actor: Actor::new(Header::new(BehaviourId::SINK, None, 1), Value::NONE),
        })
    }

    fn event(&self, n: i64) -> Event {
        Event {
            target: &self.actor,
            message: Value::fixnum(n),
        }
    }

    /// Sends numbered messages, one by one, to whoever owns the actor by its record.
    fn send(&self, numbers: [i64; 2]) {
        for n in numbers {
            loop {
                let owner = self.actor.header().owner();
                let inbox = &self.inboxes[owner as usize - 1];
                let version = inbox.version();
                if self.actor.header().owner() != owner {
                    continue;
                }
                match inbox.push_events(&mut vec![self.event(n)], Some(version)) {
                    Ok(_) => break,
                    Err(not_in) => assert_eq!(not_in, NotIn::Moved),
                }
                thread::yield_now();
            }
        }
    }

    /// Returns what has come to that thread, in the order in which it is run: first what it was given.
    fn come(&self, thread: usize) -> Vec<i64> {
        let mut contents = Contents::default();
        self.inboxes[thread - 1].drain(&mut contents);
        let mut come = Vec::new();
        for entry in contents.entries.drain(..) {
            if let Entry::Given(events) = entry {
                come.extend(events);
            }
        }
        come.append(&mut contents.events);
        come.iter().map(|e| e.message.fixnum_value()).collect()
    }
}

/// A thread gives an actor away during sends to it: everything comes to the new owner, in order.
#[test]
fn what_is_sent_to_an_actor_that_is_given_away_keeps_its_order() {
    loom::model(|| {
        let moving = Moving::new();
        let m = moving.clone();
        let sender = thread::spawn(move || m.send([1, 2]));
        let m = moving.clone();
        let giver = thread::spawn(move || {
            let taken = m.inboxes[0]
                .begin_giving(|_| true, |_| false)
                .expect("seen");
            // What it had queued goes along.
            let mut events = vec![m.event(0)];
            events.extend_from_slice(&taken.events);
            let given = m.inboxes[1].push_given(events, |_| m.actor.give(2, None));
            assert!(given.is_ok());
            m.inboxes[0].end_giving(&taken);
        });
        sender.join().unwrap();
        giver.join().unwrap();
        assert_eq!(moving.come(1), [0; 0]);
        assert_eq!(moving.come(2), [0, 1, 2]);
    });
}

/// A thread takes an actor of a sleeping thread during sends to it: anything that came before keeps the actor there.
#[test]
fn what_is_sent_to_an_actor_that_is_taken_keeps_its_order() {
    loom::model(|| {
        let moving = Moving::new();
        let m = moving.clone();
        let sender = thread::spawn(move || m.send([1, 2]));
        let header = moving.actor.header();
        let taken = moving.inboxes[0].let_take(|| moving.actor.take(header, 2, None));
        sender.join().unwrap();
        let come = [moving.come(1), moving.come(2)];
        let all = vec![1, 2];
        assert_eq!(come[usize::from(taken.is_some())], all);
        assert!(come[usize::from(taken.is_none())].is_empty());
    });
}
