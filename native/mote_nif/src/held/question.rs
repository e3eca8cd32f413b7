//! Questions: the side that waits for one answer, the side that gives it, and what both share. deliver/answer.rs says how
//! an answer gets there.
//!
//! Invariants:
//! 1. A question is closed once, by the claimant of the answer or by an asker that gives up waiting; the claimant
//!    answers.
//! 2. An abort answers a question only if it aborts a turn of the actor that was asked, and that turn was given the
//!    customer. Another actor that the customer was passed on to may be one of several that have it: its abort is kept, and
//!    reported when the promise is broken. The shard of a directory says which actor it passes a question on to: that one counts
//!    as asked.
//! 3. While the turn that was given the customer is outside (held/desk.rs), it has it, whatever the actors do. So a question is
//!    either among those that actors could forget, or **outside**: no collection needs to look whether that one is forgotten.
use crate::held::call::Call;
use crate::held::future_value::FutureValue;
use crate::held::machine::MachineResource;
use crate::held::reason::Reason;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::resource::{LentResource, Resource, ResourceArc};
use mote_vm::values::handles::Key;
use mote_vm::ActorRef;
use parking_lot::Mutex;
use rustler::{Encoder, Env, LocalPid, Term};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicU8, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Number of lanes of a machine's questions. Threads whose numbers differ by this share one.
const LANES: usize = 8;

/// The questions to one machine, counted by the threads that ask: those that ask at the same time write nothing in common.
#[derive(Default)]
pub struct Questions {
    lanes: [Arc<QuestionLane>; LANES],
    broken: AtomicU64,
}

/// The questions to one machine that some threads have asked, counted. On cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
pub struct QuestionLane {
    /// Number of the newest question that actors could forget.
    asked: AtomicU64,
    /// Number of these that are closed or outside. Each open question of another kind counts as one less. So `asked` exceeds this by the
    /// number of open questions that are not outside.
    gone: AtomicU64,
    /// Number of questions that are outside. They are open as well, but counted separately.
    outside: AtomicU64,
}

impl QuestionLane {
    // Relaxed, all but `asked` and `gone`: numbers that guard nothing. Release: whoever sees this sees what was gone before it.
    fn asked(&self) {
        self.asked.fetch_add(1, Release);
    }

    /// Counts one more open question, but none that actors could forget.
    fn inquired(&self) {
        self.gone.fetch_sub(1, Relaxed);
    }

    fn closed(&self, outside: bool) {
        match outside {
            true => self.outside.fetch_sub(1, Relaxed),
            false => self.gone(),
        };
    }

    // Release: whoever sees this sees that the question was asked (`open`).
    fn gone(&self) -> u64 {
        self.gone.fetch_add(1, Release)
    }

    /// Counts an open question that goes outside.
    fn went(&self) {
        self.outside.fetch_add(1, Relaxed);
        self.gone();
    }

    /// Counts an outside question that comes back.
    fn came(&self) {
        self.inquired();
        self.outside.fetch_sub(1, Relaxed);
    }
}

impl Questions {
    /// Returns where the calling thread counts its questions.
    fn lane(&self) -> Arc<QuestionLane> {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static LANE: usize = THREADS.fetch_add(1, Relaxed) % LANES;
        }
        self.lanes[LANE.with(|lane| *lane)].clone()
    }

    fn sum(&self, of: impl Fn(&QuestionLane) -> u64) -> u64 {
        let all = self.lanes.iter().map(|lane| of(lane));
        all.fold(0, u64::wrapping_add)
    }

    /// Returns the number of questions that are open and not outside, and the number ever asked.
    fn open(&self) -> (u64, u64) {
        // Acquire: nothing is gone that does not count as asked, and what is asked comes after what was gone by then.
        let gone_now = || self.sum(|lane| lane.gone.load(Acquire));
        let mut gone = gone_now();
        loop {
            // It only grows, one by one: the sum is what it was at some moment between the two looks at what is gone.
            let asked = self.sum(|lane| lane.asked.load(Acquire));
            let now = gone_now();
            // What was asked and closed in between, however much that is, would count as open.
            if now == gone {
                return (asked.wrapping_sub(gone), asked);
            }
            gone = now;
        }
    }

    pub fn broken(&self) {
        self.broken.fetch_add(1, Relaxed);
    }

    /// Returns the number of open questions, and of those that nobody could answer any more while the machine was running.
    pub fn counts(&self) -> (u64, u64) {
        // One that is closed while it goes outside may be taken off before it is added.
        let outside = self.sum(|lane| lane.outside.load(Relaxed));
        let open = self.open().0.wrapping_add(outside);
        (open, self.broken.load(Relaxed))
    }

    /// The number of the newest one that actors could forget, if any is open that is not outside.
    pub fn newest(&self) -> Option<u64> {
        let (open, asked) = self.open();
        (open > 0).then_some(asked)
    }
}

/// A question to another node, counted as open while actors here could answer or forget it: so a machine that has nothing to do
/// looks whether they have.
pub struct FarQuestion(Arc<QuestionLane>);

impl FarQuestion {
    /// Counts one more question to another node.
    pub fn new(questions: &Questions) -> FarQuestion {
        let lane = questions.lane();
        lane.asked();
        FarQuestion(lane)
    }
}

impl Drop for FarQuestion {
    fn drop(&mut self) {
        self.0.closed(false);
    }
}

const OPEN: u8 = 0;

const ANSWERED: u8 = 1;

const CLOSED: u8 = 2;

/// State of a question that is open, and outside.
const OUTSIDE: u8 = 3;

fn is_open(state: u8) -> bool {
    matches!(state, OPEN | OUTSIDE)
}

/// The route of an answer.
pub enum AnswerRoute {
    /// It is a message.
    Message,
    /// It is kept: a future. In a box, so that other questions are small.
    Kept(Box<FutureValue>),
    /// The call that has asked returns it, if it comes at once; otherwise it is a message.
    Returned(Call),
}

/// A question as both sides share it: whether it is still open, and the route of its answer.
pub struct Question {
    state: AtomicU8,
    /// The identity of the actor that the question was passed on to, if the actor that was asked has said so; otherwise 0.
    passed: AtomicUsize,
    /// The reason to report if nobody is left who could answer: the last aborted turn that was given the customer. It is kept only if the
    /// turn was not one of the actor that was asked, or had no clause for its message.
    lost: Mutex<Option<Reason>>,
    /// Time since which somebody waits. A call that has its answer at once never waits.
    since: OnceLock<Instant>,
    lane: Arc<QuestionLane>,
    pub route: AnswerRoute,
}

impl Question {
    fn new(lane: Arc<QuestionLane>, route: AnswerRoute) -> Arc<Question> {
        lane.asked();
        Question::open(lane, route)
    }

    /// Makes a question that the caller counts.
    fn open(lane: Arc<QuestionLane>, route: AnswerRoute) -> Arc<Question> {
        Arc::new(Question {
            state: AtomicU8::new(OPEN),
            passed: AtomicUsize::new(0),
            lost: Mutex::new(None),
            since: match route {
                AnswerRoute::Returned(_) => OnceLock::new(),
                AnswerRoute::Message | AnswerRoute::Kept(_) => OnceLock::from(Instant::now()),
            },
            lane,
            route,
        })
    }

    /// Returns the place where its answer is kept, for a future.
    pub fn future_value(&self) -> Option<&FutureValue> {
        match &self.route {
            AnswerRoute::Kept(future) => Some(future),
            AnswerRoute::Message | AnswerRoute::Returned(_) => None,
        }
    }

    /// The call that has asked.
    pub fn call(&self) -> Option<&Call> {
        match &self.route {
            AnswerRoute::Returned(call) => Some(call),
            AnswerRoute::Message | AnswerRoute::Kept(_) => None,
        }
    }

    /// The call that has asked begins to wait.
    pub fn waits(&self) {
        self.since.get_or_init(Instant::now);
    }

    /// Returns for how long somebody has been waiting.
    pub fn age(&self) -> Duration {
        self.since.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// Returns whether it has neither been answered nor given up.
    pub fn is_open(&self) -> bool {
        is_open(self.state.load(Acquire))
    }

    /// Returns whether it is counted in `questions`.
    pub fn is_among(&self, questions: &Questions) -> bool {
        let lanes = &mut questions.lanes.iter();
        lanes.any(|lane| Arc::ptr_eq(lane, &self.lane))
    }

    /// Takes the question outside, if it is open, until the returned value is dropped.
    pub fn go_outside(self: &Arc<Question>) -> Option<Outside> {
        self.change(OPEN, OUTSIDE).then(|| {
            self.lane.went();
            Outside(self.clone())
        })
    }

    // Acquire and release: nothing but the state itself is guarded, but the answer must not be sent before the
    // state says so, for then a canceller would believe that nothing is on its way.
    fn change(&self, from: u8, to: u8) -> bool {
        self.state
            .compare_exchange(from, to, AcqRel, Acquire)
            .is_ok()
    }

    /// Claims the right to answer, once.
    pub fn claim(&self) -> bool {
        self.leave(ANSWERED)
    }

    fn leave(&self, state: u8) -> bool {
        loop {
            let seen = self.state.load(Acquire);
            if !is_open(seen) {
                return false;
            }
            if self.change(seen, state) {
                self.lane.closed(seen == OUTSIDE);
                return true;
            }
        }
    }

    /// Says which actor is asked instead, before that one can run.
    pub fn pass_to(&self, actor: ActorRef<'_>) {
        // Relaxed: the commit that says so comes before the actor's turn, which the queues order behind it.
        self.passed.store(actor.identity(), Relaxed);
    }

    /// Returns whether the question was passed on to that actor.
    pub fn is_passed_to(&self, actor: ActorRef<'_>) -> bool {
        self.passed.load(Relaxed) == actor.identity()
    }

    /// Keeps the reason to report if nobody is left who could answer.
    pub fn note_lost(&self, reason: Reason) {
        *self.lost.lock() = Some(reason);
    }

    /// Takes what was kept last.
    pub fn take_lost(&self) -> Option<Reason> {
        self.lost.lock().take()
    }

    /// The asker's end of it. Returns the state that it was in.
    pub fn close(&self) -> u8 {
        // As in `change`.
        let state = self.state.swap(CLOSED, AcqRel);
        if is_open(state) {
            self.lane.closed(state == OUTSIDE);
        }
        state
    }
}

/// A question while it is outside.
pub struct Outside(Arc<Question>);

impl Outside {
    /// Returns whether it has neither been answered nor given up.
    pub fn is_open(&self) -> bool {
        self.0.is_open()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if self.0.change(OUTSIDE, OPEN) {
            self.0.lane.came();
        }
    }
}

/// The messages that a caller that closes a question must expect.
pub enum Closed {
    /// Nothing: it was open.
    Now,
    /// The one message: it was sent, or is on its way.
    Answered,
    /// Nothing: it was closed before.
    Before,
}

/// The asker's side. It does not keep the customer: when the last reference to that is gone, nobody can answer.
pub struct Asker(Arc<Question>);

impl Asker {
    /// The asker of a question that [`Customer::calling`] has opened.
    pub fn of(customer: &Customer) -> Asker {
        Asker(customer.question.clone())
    }

    /// Returns the state that both sides share.
    pub fn question(&self) -> &Arc<Question> {
        &self.0
    }

    /// Gives up waiting, or has got the message.
    pub fn close(&self) -> Closed {
        match self.0.close() {
            OPEN | OUTSIDE => Closed::Now,
            ANSWERED => Closed::Answered,
            _ => Closed::Before,
        }
    }

    /// Returns whether it was closed, so that there is no message to wait for.
    pub fn is_closed(&self) -> bool {
        self.0.state.load(Acquire) == CLOSED
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Resource for Asker {}

resource_type!(Asker);

/// The receiver of a question.
pub enum Asked {
    /// The machine itself, or another question.
    Nobody,
    Actor(Key),
    /// An actor that nobody else knows: its identity, 0 before there is one.
    Launched(AtomicUsize),
}

/// The side that answers: one awaited answer.
pub struct Customer {
    pub pid: LocalPid,
    /// The tag of the message, if the answer is one.
    tag: Option<OwnTerm>,
    pub question: Arc<Question>,
    /// Counted by the call that has asked only if the customer outlives that.
    pub machine: LentResource<MachineResource>,
    pub asked: Asked,
}

impl Customer {
    /// A customer that waits in `pid` for a message with that tag from the actor of a key, and the side of that process.
    pub fn asking(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
        asked: Key,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(machine.questions.lane(), AnswerRoute::Message);
        let tag = Some(machine.tags.copy(tag));
        Customer::with(pid, tag, question, machine, Asked::Actor(asked))
    }

    /// Makes a customer that waits in `pid` for a message with that tag from nobody in particular, and the side of that process.
    pub fn new(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(machine.questions.lane(), AnswerRoute::Message);
        let tag = Some(machine.tags.copy(tag));
        Customer::with(pid, tag, question, machine, Asked::Nobody)
    }

    /// Makes such a customer for an answer from the machine itself, or from another question. It is counted, but is no reason to look
    /// again whether somebody waits in vain.
    pub fn inquiring(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::open(machine.questions.lane(), AnswerRoute::Message);
        question.lane.inquired();
        let tag = Some(machine.tags.copy(tag));
        Customer::with(pid, tag, question, machine, Asked::Nobody)
    }

    /// Makes such a customer for the machine itself. No actor can break that promise, so nobody looks whether it is broken.
    pub fn of_machine(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(Arc::default(), AnswerRoute::Message);
        let tag = Some(machine.tags.copy(tag));
        Customer::with(pid, tag, question, machine, Asked::Nobody)
    }

    /// Makes a customer whose answer is kept, and the side of those who look at it; asked by `pid`.
    pub fn future(
        pid: LocalPid,
        future: FutureValue,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(
            machine.questions.lane(),
            AnswerRoute::Kept(Box::new(future)),
        );
        let asked = Asked::Launched(AtomicUsize::new(0));
        Customer::with(pid, None, question, machine, asked)
    }

    /// A customer for a call in `pid` that asks the actor of a key and returns the answer itself. It has no resource yet:
    /// most are answered before Elixir ever sees them.
    pub fn calling(pid: LocalPid, machine: LentResource<MachineResource>, asked: Key) -> Customer {
        let call = AnswerRoute::Returned(Call::default());
        Customer {
            pid,
            tag: None,
            question: Question::new(machine.questions.lane(), call),
            machine,
            asked: Asked::Actor(asked),
        }
    }

    /// Makes the form of a customer of [`Customer::calling`] that Elixir sees.
    pub fn shown(&self) -> ResourceArc<Customer> {
        let asked = match self.asked {
            Asked::Actor(key) => Asked::Actor(key),
            Asked::Nobody | Asked::Launched(_) => Asked::Nobody,
        };
        ResourceArc::new(Customer {
            pid: self.pid,
            tag: self.tag.clone(),
            question: self.question.clone(),
            machine: self.machine.kept().into(),
            asked,
        })
    }

    fn with(
        pid: LocalPid,
        tag: Option<OwnTerm>,
        question: Arc<Question>,
        machine: ResourceArc<MachineResource>,
        asked: Asked,
    ) -> (ResourceArc<Customer>, Asker) {
        let asker = Asker(question.clone());
        let customer = Customer {
            pid,
            tag,
            question,
            machine: machine.into(),
            asked,
        };
        (ResourceArc::new(customer), asker)
    }

    /// Claims the right to answer, once. The claimant must answer.
    pub fn claim(&self) -> bool {
        self.question.claim()
    }

    /// Returns whether it takes an answer.
    pub fn is_open(&self) -> bool {
        self.question.is_open()
    }

    /// Returns whether the answer is kept.
    pub fn is_future(&self) -> bool {
        self.question.future_value().is_some()
    }

    /// Returns whether it is a killed future, or a call that nobody refers to any more, since nobody could miss its effects.
    pub fn is_killed(&self) -> bool {
        let state = self.question.state.load(Acquire);
        let future = self.question.future_value();
        let future = future.filter(|_| !is_open(state));
        future.is_some_and(|future| future.is_killed(state == CLOSED))
    }

    /// Returns the process that asked.
    pub fn pid(&self) -> &LocalPid {
        &self.pid
    }

    /// Sets the actor that the question is put to, before that actor can run.
    pub fn is_for(&self, actor: ActorRef<'_>) {
        if let Asked::Launched(identity) = &self.asked {
            // Relaxed: the inbox that the request enters orders it before the turn.
            identity.store(actor.identity(), Relaxed);
        }
    }

    /// The message that carries an answer.
    pub fn tagged<'a>(&self, env: Env<'a>, answer: Term<'a>) -> Term<'a> {
        (self.tag_in(env), answer).encode(env)
    }

    /// The message that says why there will be no answer.
    pub fn failed<'a>(&self, env: Env<'a>, reason: Term<'a>) -> Term<'a> {
        (self.tag_in(env), names::failed(), reason).encode(env)
    }

    fn tag_in<'a>(&self, env: Env<'a>) -> Option<Term<'a>> {
        self.tag.as_ref().map(|tag| tag.to(env))
    }
}
