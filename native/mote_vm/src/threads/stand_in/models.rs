//! Models of standing in, for loom.
use crate::base::sync::{AcqRel, AtomicBool, AtomicUsize, Relaxed, SeqCst};
use crate::threads::inbox::{Contents, Inbox};
use crate::threads::presence::Presence;
use crate::turns::queue::Event;
use loom::sync::Arc;
use loom::thread;

#[derive(Default)]
struct Scene {
    inbox: Inbox,
    done: AtomicUsize,
    summoned: AtomicBool,
    stopping: AtomicBool,
}

impl Scene {
    fn drain(&self) {
        let mut contents = Contents::default();
        self.inbox.drain(&mut contents);
        self.done.fetch_add(contents.len(), Relaxed);
    }
}

/// A caller asks and stands in, or wakes the sleeper, while somebody else stops the machine: what was asked is done,
/// and the sleeper ends, although the stand-in may have taken what told it to.
#[test]
fn neither_the_caller_nor_the_sleeper_is_forgotten() {
    loom::model(|| {
        let shared = Arc::new((Scene::default(), Presence::new()));
        let s = shared.clone();
        let sleeper = thread::spawn(move || {
            let (scene, presence) = &*s;
            loop {
                presence.wake();
                scene.summoned.swap(false, AcqRel);
                if scene.stopping.load(SeqCst) {
                    return scene.drain();
                }
                scene.drain();
                presence.sleep();
                if !scene.inbox.is_pending() && !scene.stopping.load(SeqCst) {
                    thread::park();
                }
            }
        });
        let s = shared.clone();
        let sleeping = sleeper.thread().clone();
        let caller = thread::spawn(move || {
            let (scene, presence) = &*s;
            let event = Event {
                target: std::ptr::null(),
                message: crate::values::value::Value::NIL,
            };
            assert!(scene.inbox.push_events(&mut vec![event], None).is_ok());
            let stand_in = presence.stand_in();
            let is_needed = stand_in.is_none();
            if stand_in.is_some() {
                let mut contents = Contents::default();
                assert!(scene.inbox.drain_little(&mut contents));
                scene.done.fetch_add(contents.len(), Relaxed);
            }
            drop(stand_in);
            let waits = scene.inbox.is_pending() || scene.summoned.load(Relaxed);
            if (is_needed || waits) && presence.is_asleep() {
                sleeping.unpark();
            }
        });
        let (scene, presence) = &*shared;
        scene.stopping.store(true, SeqCst);
        scene.summoned.swap(true, AcqRel);
        scene.inbox.announce();
        if presence.is_asleep() {
            sleeper.thread().unpark();
        }
        caller.join().unwrap();
        sleeper.join().unwrap();
        scene.drain();
        assert_eq!(scene.done.load(Relaxed), 1);
    });
}
