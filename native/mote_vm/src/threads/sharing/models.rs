//! Requests and shares in every order of steps (loom).
use super::*;
use crate::base::sync::{AtomicBool, AtomicUsize, SeqCst};
use crate::threads::inbox::{Contents, Inbox};
use crate::threads::presence::Presence;
use crate::threads::quiescence::{Quiescence, Quiet};
use crate::threads::request::Request;
use crate::values::value::Value;
use loom::thread;

fn event() -> Event {
    numbered(0)
}

fn numbered(n: i64) -> Event {
    Event {
        target: std::ptr::null(),
        message: Value::fixnum(n),
    }
}

/// Two threads ask a third one: each is answered or withdraws, never both and never neither.
#[test]
fn a_request_is_answered_or_withdrawn() {
    loom::model(|| {
        let request = loom::sync::Arc::new(Request::new());
        let askers: Vec<_> = [1, 2]
            .into_iter()
            .map(|me| {
                let request = request.clone();
                thread::spawn(move || request.ask(me) && !request.withdraw(me))
            })
            .collect();
        let answers = [request.answer(), request.answer()];
        let answered = askers.into_iter().map(|a| a.join().unwrap());
        for (me, answered) in [1, 2].into_iter().zip(answered) {
            let times = answers.iter().filter(|a| **a == Some(me)).count();
            assert_eq!(times, answered as usize);
        }
        assert_eq!(request.answer(), None);
    });
}

/// The asker may have given up and gone to sleep: what it is given wakes it, or it does not park; somebody may have
/// woken it before. And `waking` never stays set on it.
#[test]
fn a_share_arrives_though_the_asker_gave_up() {
    loom::model(|| {
        let shared = loom::sync::Arc::new((
            Request::new(),
            Inbox::default(),
            Presence::new(),
            crate::base::sync::AtomicBool::new(false),
        ));
        let s = shared.clone();
        let asker = thread::spawn(move || {
            let (request, inbox, presence, waking) = &*s;
            presence.wake();
            if request.ask(1) {
                request.withdraw(1);
            }
            let mut contents = Contents::default();
            // Still awake, as between two batches.
            inbox.drain(&mut contents);
            waking.store(false, Relaxed);
            presence.sleep();
            while contents.len() == 0 {
                if !inbox.is_pending() {
                    thread::park();
                }
                presence.wake();
                waking.store(false, Relaxed);
                inbox.drain(&mut contents);
                waking.store(false, Relaxed);
                presence.sleep();
            }
            assert_eq!(contents.len(), 1);
        });
        let (request, inbox, presence, waking) = &*shared;
        if presence.is_asleep() {
            waking.store(true, Relaxed);
            inbox.announce();
            asker.thread().unpark();
        }
        let _ = request.answer();
        let wakes = inbox.push_events(&mut vec![event()], None).expect("open");
        if wakes && presence.is_asleep() {
            asker.thread().unpark();
        }
        asker.join().unwrap();
        assert!(!waking.load(Relaxed));
        assert_eq!(request.answer(), None);
    });
}

/// An asker, what it and its giver have done of two things, and how often each was done.
struct Scene {
    request: Request,
    inbox: Inbox,
    presence: Presence,
    quiescence: std::sync::Arc<Quiescence>,
    done: [AtomicUsize; 2],
    stopping: AtomicBool,
}

impl Scene {
    fn run(&self, event: Event) {
        let n = event.message.as_fixnum().unwrap() as usize;
        self.done[n].fetch_add(1, Relaxed);
    }

    fn is_done(&self) -> bool {
        self.done.iter().all(|times| times.load(Relaxed) == 1)
    }

    /// Acts as an idle thread until the end: asks, in vain or not, takes in what has come, and sleeps.
    fn ask_and_sleep(&self) {
        while !self.stopping.load(SeqCst) {
            self.presence.wake();
            if self.request.ask(1) {
                self.request.withdraw(1);
            }
            let mut contents = Contents::default();
            self.inbox.drain(&mut contents);
            contents.events.iter().for_each(|event| self.run(*event));
            self.quiescence.done(contents.outstanding());
            self.presence.sleep();
            self.quiescence.done(1);
            if !self.inbox.is_pending() && !self.stopping.load(SeqCst) {
                thread::park();
            }
            self.quiescence.add(1);
        }
        self.quiescence.done(1);
    }
}

/// A thread asks before anything is available. Another one gets two things to do, gives one of them away if it is asked
/// by then, does what it keeps and sleeps. Each is done once. It is quiet when both are done and not before, whether the
/// asker waits for its share, has withdrawn or sleeps.
#[test]
fn it_is_quiet_when_what_was_shared_is_done() {
    loom::model(|| {
        let quiescence = std::sync::Arc::<Quiescence>::default();
        let scene = loom::sync::Arc::new(Scene {
            request: Request::new(),
            inbox: Inbox::new(std::sync::Arc::default(), quiescence.clone()),
            presence: Presence::new(),
            quiescence: quiescence.clone(),
            done: Default::default(),
            stopping: AtomicBool::new(false),
        });
        quiescence.add(2); // both are awake
        let s = scene.clone();
        let asker = thread::spawn(move || s.ask_and_sleep());
        let (s, sleeping) = (scene.clone(), asker.thread().clone());
        quiescence.wait(
            Quiet::Whole,
            Box::new(move || {
                assert!(s.is_done());
                s.stopping.store(true, SeqCst);
                s.inbox.announce();
                if s.presence.is_asleep() {
                    sleeping.unpark();
                }
            }),
        );
        let mut queue = vec![numbered(0), numbered(1)];
        if scene.request.answer().is_some() {
            let wakes = scene.inbox.push_events(&mut queue.split_off(1), None);
            if wakes.expect("open") && scene.presence.is_asleep() {
                asker.thread().unpark();
            }
        }
        queue.into_iter().for_each(|event| scene.run(event));
        quiescence.done(1);
        asker.join().unwrap();
        assert!(scene.is_done() && quiescence.is_quiet());
        assert_eq!(scene.request.answer(), None);
    });
}
