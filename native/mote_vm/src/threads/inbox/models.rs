//! Loom models: no wake-up is lost, and nothing that was pushed.
use super::*;
use crate::threads::presence::Presence;
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

/// One of two senders finds the inbox announced already and leaves the waking to the other: whatever the thread did
/// not drain before it slept, it hears of.
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

/// What a drain does not take keeps `pending` set.
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
        quiescence.wait(Box::new(move || {
            assert!(taken.load(SeqCst));
            t.store(true, SeqCst);
        }));
        sleeper.join().unwrap();
        assert!(told.load(SeqCst));
    });
}
