//! Whatever threads do meanwhile, no message is overtaken: the tests use the real lists, inboxes and records, and switch between
//! threads in the middle of everything (base/interleaving.rs).
use super::*;
use crate::base::interleaving::{others_may_act, Interleaving};
use crate::testing::still::Still;
use crate::threads::thread::Dispatch;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::value::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

const THREADS: usize = 4;
/// Few actors often have several events on their way; many go different ways.
const ACTORS: [usize; 2] = [3, 6];
/// Number of turns of an actor that send.
const ROUNDS: usize = 80;
/// Messages to one actor in one turn.
const RUN: usize = 3;
/// A message says who has sent it, and how many that one had sent to this actor.
const NUMBERS: usize = 1_000;

struct Play {
    interleaving: Arc<Interleaving>,
    /// Addresses of the actors.
    actors: Vec<usize>,
    rounds: Vec<AtomicUsize>,
    /// The numbers of the last messages from one to another: sent, received.
    last: Mutex<HashMap<(usize, usize), (usize, usize)>>,
    under_way: AtomicUsize,
    failed: AtomicBool,
}

impl Play {
    /// The turn of an actor: checks the number of the message, and sends to others as long as it has rounds left.
    fn turn(&self, event: Event, turn: &mut Turn) {
        let number_of = |target: *const Actor| {
            let mut actors = self.actors.iter();
            actors.position(|actor| *actor == target.addr()).unwrap()
        };
        let me = number_of(event.target);
        let message = event.message.as_fixnum().unwrap() as usize;
        let mut last = self.last.lock().unwrap();
        if let Some(sender) = (message / NUMBERS).checked_sub(1) {
            let (_, received) = last.get_mut(&(sender, me)).unwrap();
            let in_order = *received + 1 == message % NUMBERS;
            if !in_order {
                self.failed.store(true, SeqCst);
            }
            assert!(in_order, "{message} comes after {received}");
            *received += 1;
        }
        let rounds = &self.rounds[me];
        if rounds.load(SeqCst) > 0 {
            rounds.fetch_sub(1, SeqCst);
            let to = self.interleaving.below(self.actors.len());
            for _ in 0..RUN {
                let (sent, _) = last.entry((me, to)).or_default();
                *sent += 1;
                let message = Value::fixnum(((me + 1) * NUMBERS + *sent) as i64);
                let target = std::ptr::with_exposed_provenance(self.actors[to]);
                turn.queue.push(target, message);
                self.under_way.fetch_add(1, SeqCst);
            }
        }
        self.under_way.fetch_sub(1, SeqCst);
    }

    fn is_over(&self) -> bool {
        self.failed.load(SeqCst) || self.under_way.load(SeqCst) == 0
    }

    /// Runs a thread's loop for as long as anything is under way.
    fn run(&self, number: usize, mut thread: Dispatch) {
        let _taking = self.interleaving.take_part(number);
        thread.context.station.presence.wake();
        while !self.is_over() {
            others_may_act();
            if thread.context.station.inbox.is_pending() {
                thread.drain();
            }
            thread.take_up_held();
            self.run_batch(&mut thread);
            thread.flush();
            thread.turn.savepoint.queue = thread.turn.queue.position();
            self.give(&mut thread);
            if thread.is_done() {
                self.rest(&mut thread);
            }
        }
        // Others, who have still to notice that it is over, do not look at what is gone.
        thread.context.station.show(std::ptr::null_mut());
        thread.context.station.presence.sleep();
    }

    fn run_batch(&self, thread: &mut Dispatch) {
        let me = thread.context.station.number;
        thread.turn.leaving.look_again();
        for _ in 0..self.interleaving.below(8) {
            let Some(event) = thread.turn.queue.pop() else {
                return;
            };
            let mine =
                event.target != thread.turn.leaving.elsewhere.0 && event.header().is_run_by(me);
            if mine || thread.comes_here(event) {
                self.turn(event, &mut thread.turn);
            }
        }
    }

    /// Gives some actors to one of the other threads.
    fn give(&self, thread: &mut Dispatch) {
        let Dispatch { context, turn, .. } = thread;
        let to = &context.sponsor.stations[self.interleaving.below(THREADS)];
        if to.number != context.station.number && self.interleaving.below(2) == 0 {
            context.give(turn, to, |_, _| |_, _| self.interleaving.below(2) == 0);
        }
    }

    /// Sleeps, so that others take its actors over.
    fn rest(&self, thread: &mut Dispatch) {
        thread.stand_still(|context| {
            context.station.presence.sleep();
            while !self.is_over() && !context.station.inbox.is_pending() {
                others_may_act();
            }
            context.station.presence.wake();
        });
    }
}

/// The threads of a sponsor, whose actors the first one owns; the first one has a message for each.
fn cast(still: &Still, actors: usize) -> (Vec<Dispatch>, Vec<usize>) {
    let mut threads = still.threads();
    let turn = &mut threads[0].turn;
    let behaviour = turn.around.program.publish_unsafe();
    let actor = |_| turn.create(behaviour, Value::NIL).address_pointer();
    let actors: Vec<*const Actor> = (0..actors).map(actor).collect();
    for actor in &actors {
        turn.queue.push(*actor, Value::fixnum(0));
    }
    turn.savepoint.queue = turn.queue.position();
    (
        threads,
        actors
            .iter()
            .map(|actor| actor.expose_provenance())
            .collect(),
    )
}

fn play(seed: u64) {
    let still = Still::new(THREADS);
    let actors = ACTORS[seed as usize % ACTORS.len()];
    let (threads, actors) = cast(&still, actors);
    let play = Play {
        interleaving: Interleaving::new(seed, THREADS),
        rounds: actors.iter().map(|_| AtomicUsize::new(ROUNDS)).collect(),
        under_way: AtomicUsize::new(actors.len()),
        actors,
        last: Mutex::default(),
        failed: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for (number, thread) in threads.into_iter().enumerate() {
            let play = &play;
            scope.spawn(move || play.run(number, thread));
        }
    });
    assert!(!play.failed.load(SeqCst), "seed {seed}");
    let last = play.last.lock().unwrap();
    assert!(last.values().all(|(sent, received)| sent == received));
}

#[test]
fn no_message_is_overtaken_whenever_others_act() {
    (0..400).for_each(play);
}

/// A thread of two in the middle of a turn of its first actor, whose event was the last one in a chunk of the queue; events for
/// the others are queued behind it.
fn amid_a_turn(others: usize) -> (Still, Event, Vec<Event>) {
    let mut still = Still::new(2);
    let turn = &mut still.thread.turn;
    let behaviour = turn.around.program.publish_unsafe();
    let mut events = (0..=others).map(|_| Event {
        target: turn.create(behaviour, Value::NIL).address_pointer(),
        message: Value::NIL,
    });
    let first = events.next().expect("one at least");
    let others: Vec<Event> = events.collect();
    for event in &others {
        turn.queue.push(event.target, event.message);
    }
    // In a chunk of its own, for there is no room before the others.
    turn.queue.prepend(&[first]);
    turn.queue.pop();
    turn.begin(first);
    (still, first, others)
}

fn targets_of(turn: &mut Turn) -> Vec<*const Actor> {
    let queued = std::iter::from_fn(|| turn.queue.pop());
    queued.map(|event| event.target).collect()
}

#[test]
fn a_turn_that_has_looked_through_the_queue_can_run_once_more() {
    for others in [1, 2, 5] {
        let (mut still, first, others) = amid_a_turn(others);
        let Dispatch { context, turn, .. } = &mut still.thread;
        let given = context.give(turn, &context.sponsor.stations[1], |_, _| |_, _| false);
        assert_eq!(given, Some(0));
        still.thread.postpone(first);
        let all = [first]
            .iter()
            .chain(&others)
            .map(|e| e.target)
            .collect::<Vec<_>>();
        assert_eq!(targets_of(&mut still.thread.turn), all);
    }
}

#[test]
fn nothing_is_lost_with_a_turn_that_gives_to_a_thread_that_has_ended() {
    let (mut still, first, others) = amid_a_turn(1);
    let Dispatch { context, turn, .. } = &mut still.thread;
    let heir = &context.sponsor.stations[1];
    heir.inbox.close(&mut Default::default());
    let mut come = others.clone();
    assert!(context.station.inbox.push_events(&mut come, None).is_ok());
    turn.queue.push(first.target, Value::TRUE);
    let given = context.give(turn, heir, |_, _| |_, _| true);
    assert_eq!(given, Some(0));
    turn.abort();
    turn.actor = std::ptr::null();
    still.thread.take_up_held();
    let twice = [others[0].target; 2];
    assert_eq!(targets_of(&mut still.thread.turn), twice);
}

/// A thread of two, with an event of its own actor queued that the other thread asks for.
fn asked_for() -> (Still, Event) {
    let mut still = Still::new(2);
    let thread = &mut still.thread;
    let behaviour = thread.turn.around.program.publish_unsafe();
    let event = Event {
        target: thread.turn.create(behaviour, Value::NIL).address_pointer(),
        message: Value::NIL,
    };
    thread.turn.queue.push(event.target, event.message);
    let asker = thread.context.sponsor.stations[1].number;
    thread.ask_from(event, asker);
    assert!(thread.turn.leaving.is_asked(event.target));
    (still, event)
}

/// Creates the same as [`asked_for`], but the actor has become one that never becomes: any thread may run it.
fn asked_for_in_vain() -> (Still, Event) {
    let (still, event) = asked_for();
    event.actor().set(BehaviourId::SINK, Value::NIL);
    (still, event)
}

#[test]
fn an_actor_that_a_thread_has_asked_for_that_has_ended_stays() {
    let (mut still, event) = asked_for();
    let thread = &mut still.thread;
    let asker = thread.context.sponsor.stations[1].clone();
    asker.inbox.close(&mut Default::default());
    thread.run_batch();
    assert!(thread.turn.leaving.is_due(event.target));
    thread.migrate();
    assert!(!thread.turn.leaving.is_asked(event.target));
    assert_eq!(thread.turn.queue.len(), 1);
    // It needs no route.
    assert!(event.header().is_run_by(thread.context.station.number));
}

#[test]
fn nobody_waits_for_an_actor_that_any_thread_may_run() {
    let (mut still, event) = asked_for_in_vain();
    still.thread.run_batch();
    assert!(still.thread.turn.queue.is_empty());
    assert!(!still.thread.turn.leaving.is_asked(event.target));
    // Its next event here needs no route.
    assert!(!event.header().is_asked_for());
    let (mut still, event) = asked_for_in_vain();
    let Dispatch { context, turn, .. } = &mut still.thread;
    let given = context.give(turn, &context.sponsor.stations[1], |_, _| |_, _| true);
    // Where its event is, that is found out.
    assert_eq!((given, turn.queue.len()), (Some(0), 1));
    still.thread.run_batch();
    assert!(!still.thread.turn.leaving.is_asked(event.target));
}

#[test]
fn events_that_go_alone_count_although_no_actor_can_be_given() {
    let mut still = Still::new(2);
    let Dispatch { context, turn, .. } = &mut still.thread;
    let alone = turn.create(BehaviourId::SINK, Value::NIL).address_pointer();
    let behaviour = turn.around.program.publish_unsafe();
    let other = turn.create(behaviour, Value::NIL).address_pointer();
    // Its owner, of another sponsor, has just ended: the event is held.
    let ended = context.machine.stations().open().expect("a number");
    ended.presence.wake();
    ended.inbox.close(&mut Default::default());
    // SAFETY: made just now.
    unsafe { (*other).give(ended.number, None) };
    turn.queue.push(alone, Value::NIL);
    turn.queue.push(other, Value::NIL);
    let heir = &context.sponsor.stations[1];
    let given = context.give(turn, heir, |_, _| |_, _| true);
    assert_eq!((given, heir.inbox.figures().0), (None, 1));
    assert_eq!(turn.leaving.gone, 1);
    ended.presence.sleep();
}
