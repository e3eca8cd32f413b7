//! What Elixir holds references to: machines, addresses, customers.
//!
//! Invariants:
//! 1. A running machine holds its own resource (the pin, in [`Bridge`]) until it was joined, so the library is never
//!    unloaded under its threads. Whoever joined releases the pin.
//! 2. Destructors run on any thread at any time: they only release, send, and set flags.
use crate::atoms::{self, names};
use crate::future::Cell;
use crate::mail::{self, Mail};
use crate::message;
use crate::own_term::{Nursery, OwnTerm};
use mote_vm::actor::SponsorId;
use mote_vm::atom::Atom;
use mote_vm::handles::Key;
use mote_vm::machine::Machine;
use mote_vm::timers::TimerId;
use mote_vm::Term as Value;
use parking_lot::Mutex;
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Binary, Encoder, Env, LocalPid, Monitor, Resource, ResourceArc, Term};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering::AcqRel, Ordering::Acquire,
    Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The questions to one machine, counted.
#[derive(Default)]
pub struct Questions {
    asked: AtomicU64,
    open: AtomicU64,
    broken: AtomicU64,
}

impl Questions {
    // Relaxed, all: numbers that guard nothing.
    fn asked(&self) {
        self.open.fetch_add(1, Relaxed);
        self.asked.fetch_add(1, Relaxed);
    }

    /// One more is open, but none that actors could forget.
    fn inquired(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    fn closed(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    fn broken(&self) {
        self.broken.fetch_add(1, Relaxed);
    }

    /// How many are open, and how many nobody could answer any more while the machine was running.
    pub fn counts(&self) -> (u64, u64) {
        (self.open.load(Relaxed), self.broken.load(Relaxed))
    }

    /// The number of the newest one that actors could forget, if any is open at all.
    pub fn newest(&self) -> Option<u64> {
        (self.open.load(Relaxed) > 0).then(|| self.asked.load(Relaxed))
    }
}

/// How many more reports of aborts the process that answers for a machine wants: what it does not ask for is only
/// counted, so its mailbox holds no more of them than that.
#[derive(Default)]
pub struct Reports(AtomicU32);

impl Reports {
    // Relaxed, both: a number that guards nothing.

    /// Asks for that many, in place of what was left.
    pub fn want(&self, count: u32) {
        self.0.store(count, Relaxed);
    }

    /// Whether one more is wanted; then it must be sent.
    pub fn take(&self) -> bool {
        // A look goes ahead: while none is wanted, nobody writes to this word.
        self.0.load(Relaxed) > 0
            && self
                .0
                .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_ok()
    }
}

/// One machine, from its start until nobody refers to it any more.
pub struct MachineResource {
    /// Set once, so that who sends takes no lock. It stays as long as the resource, though what it held in actors is given
    /// back by a join.
    machine: OnceLock<Machine>,
    joined: AtomicBool,
    /// Held while a unit is loaded, so that a unit is loaded once.
    pub loading: Mutex<()>,
    /// Held while somebody starts threads or waits for some to end: one at a time.
    pub joining: Mutex<()>,
    /// For small terms that the machine cannot look into.
    pub nursery: Nursery,
    /// For references, which may be some library's resources: so they have a place of their own, where few of them
    /// keep each other.
    pub references: Nursery,
    /// For the tags of questions, which are plain references and gone soon: so many of them share an environment, for
    /// making one takes longer than the rest of a question.
    pub tags: Nursery,
    /// The process that answers for it.
    pub owner: LocalPid,
    /// When it was started.
    pub started: Instant,
    /// What is asked from outside.
    pub questions: Arc<Questions>,
    /// What is reported.
    pub reports: Arc<Reports>,
    /// What waits to be sent to processes.
    pub mail: Arc<Mail>,
}

impl MachineResource {
    /// A machine that is not running yet.
    pub fn new(owner: LocalPid) -> MachineResource {
        MachineResource {
            machine: OnceLock::new(),
            joined: AtomicBool::new(false),
            loading: Mutex::new(()),
            joining: Mutex::new(()),
            nursery: Nursery::new(64),
            references: Nursery::new(16),
            tags: Nursery::new(256),
            owner,
            started: Instant::now(),
            questions: Arc::default(),
            reports: Arc::default(),
            mail: Arc::default(),
        }
    }

    /// Makes it known as running.
    pub fn set(&self, machine: Machine) {
        // The first one stays.
        let _ = self.machine.set(machine);
    }

    /// The machine, unless it was told to stop or has met a fault.
    pub fn running(&self) -> Option<&Machine> {
        self.machine.get().filter(|machine| !machine.is_stopping())
    }

    /// The machine, also while it stops; not after a join.
    pub fn any(&self) -> Option<&Machine> {
        // Acquire: who sees it finds everything joined.
        let machine = self.machine.get();
        machine.filter(|_| !self.joined.load(Acquire))
    }

    /// Tells it to stop.
    pub fn stop(&self) {
        if let Some(machine) = self.machine.get() {
            machine.stop();
        }
    }

    /// It was joined.
    pub fn joined(&self) {
        self.joined.store(true, Release);
    }
}

#[rustler::resource_impl]
impl Resource for MachineResource {
    const IMPLEMENTS_DOWN: bool = true;

    // The owner was killed. Its janitor joins; here the threads are only told, which waits for nobody.
    fn down<'a>(&'a self, _env: Env<'a>, _pid: LocalPid, _monitor: Monitor) {
        self.stop();
    }
}

/// Bytes of an address's key. OTP 27 and later may copy binaries of up to 64 bytes into process heaps, and a copy
/// does not hold the resource that keeps the actor alive; so keys are longer than their content.
pub const KEY_BYTES: usize = 72;

/// A reference to an actor, held by the key binaries that are made of it.
pub struct Handle {
    machine: ResourceArc<MachineResource>,
    key: Key,
    content: [u8; KEY_BYTES],
}

impl Handle {
    /// Takes over a key that the caller acquired.
    pub fn new(machine: ResourceArc<MachineResource>, key: Key) -> Handle {
        let mut content = [0; KEY_BYTES];
        content[..4].copy_from_slice(&key.slot.to_le_bytes());
        content[4..20].copy_from_slice(&key.serial.to_le_bytes());
        Handle {
            machine,
            key,
            content,
        }
    }

    /// What the key binary says.
    pub fn content(&self) -> &[u8] {
        &self.content
    }
}

#[rustler::resource_impl]
impl Resource for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(machine) = self.machine.any() {
            machine.release(self.key);
        }
    }
}

/// The key in a key binary, which anybody can have made: only the machine knows whether it is one of its own.
pub fn parse_key(key: Term<'_>) -> Option<Key> {
    let binary = Binary::from_term(key).ok()?;
    let bytes: &[u8; KEY_BYTES] = binary.as_slice().try_into().ok()?;
    let (slot, rest) = bytes.split_first_chunk()?;
    Some(Key {
        slot: u32::from_le_bytes(*slot),
        serial: u128::from_le_bytes(*rest.first_chunk()?),
    })
}

/// Bytes of a timer's key.
const TIMER_BYTES: usize = 14;

/// What the key of a timer says.
pub fn timer_key(timer: TimerId) -> [u8; TIMER_BYTES] {
    let mut key = [0; TIMER_BYTES];
    key[..8].copy_from_slice(&timer.serial.to_le_bytes());
    key[8..10].copy_from_slice(&timer.thread.to_le_bytes());
    key[10..].copy_from_slice(&timer.place.to_le_bytes());
    key
}

/// The timer of a key, if it is one.
pub fn parse_timer(key: Term<'_>) -> Option<TimerId> {
    let binary = Binary::from_term(key).ok()?;
    let bytes: &[u8; TIMER_BYTES] = binary.as_slice().try_into().ok()?;
    let (serial, rest) = bytes.split_first_chunk()?;
    let (thread, place) = rest.split_first_chunk()?;
    Some(TimerId {
        serial: u64::from_le_bytes(*serial),
        thread: u16::from_le_bytes(*thread),
        place: u32::from_le_bytes(*place.first_chunk()?),
    })
}

/// The sponsor of a name in a running machine; none of `nil`.
pub fn sponsor(machine: &Machine, name: Term<'_>) -> Result<Option<SponsorId>, BeamAtom> {
    if !name.is_atom() {
        return Err(names::no_sponsor());
    }
    match atoms::number(name) {
        Atom::NIL => Ok(None),
        name => machine
            .sponsor(name)
            .map(Some)
            .ok_or_else(names::no_sponsor),
    }
}

const OPEN: u8 = 0;
const ANSWERED: u8 = 1;
const CLOSED: u8 = 2;

/// Whether a question is still open, for both sides of it; and where its answer is kept, if it is a future.
pub struct Question {
    state: AtomicU8,
    questions: Arc<Questions>,
    cell: Option<Cell>,
}

impl Question {
    fn new(questions: &Arc<Questions>, cell: Option<Cell>) -> Arc<Question> {
        questions.asked();
        Question::open(questions, cell)
    }

    /// One that the caller counts.
    fn open(questions: &Arc<Questions>, cell: Option<Cell>) -> Arc<Question> {
        Arc::new(Question {
            state: AtomicU8::new(OPEN),
            questions: questions.clone(),
            cell,
        })
    }

    /// Where its answer is kept.
    pub fn cell(&self) -> Option<&Cell> {
        self.cell.as_ref()
    }

    /// Whether it has neither an answer nor been given up.
    pub fn is_open(&self) -> bool {
        self.state.load(Acquire) == OPEN
    }

    /// Claims the right to answer, once.
    pub fn claim(&self) -> bool {
        self.leave(ANSWERED)
    }

    // Acquire and release: nothing but the state itself is guarded, but the answer must not be sent before the
    // state says so, for then a canceller would believe that nothing is on its way.
    fn leave(&self, state: u8) -> bool {
        let left = self
            .state
            .compare_exchange(OPEN, state, AcqRel, Acquire)
            .is_ok();
        if left {
            self.questions.closed();
        }
        left
    }

    /// The end of it for who asked; the state that it was in.
    fn close(&self) -> u8 {
        // As in `leave`.
        let state = self.state.swap(CLOSED, AcqRel);
        if state == OPEN {
            self.questions.closed();
        }
        state
    }
}

/// What whoever closes a question has to expect.
pub enum Closed {
    /// Nothing: it was open.
    Now,
    /// The one message: it was sent, or is on its way.
    Answered,
    /// Nothing: it was closed before.
    Before,
}

/// The side of who waits. It does not keep the customer, whose last reference gone means that nobody can answer.
pub struct Asker(Arc<Question>);

impl Asker {
    /// What both sides share.
    pub fn question(&self) -> &Arc<Question> {
        &self.0
    }

    /// Gives up waiting, or has got the message.
    pub fn close(&self) -> Closed {
        match self.0.close() {
            OPEN => Closed::Now,
            ANSWERED => Closed::Answered,
            _ => Closed::Before,
        }
    }

    /// Whether it was closed: then there is no message to wait for.
    pub fn is_closed(&self) -> bool {
        self.0.state.load(Acquire) == CLOSED
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[rustler::resource_impl]
impl Resource for Asker {}

/// The side of who answers: one awaited answer.
pub struct Customer {
    pid: LocalPid,
    /// Of the message; none of a future.
    tag: Option<OwnTerm>,
    question: Arc<Question>,
    machine: ResourceArc<MachineResource>,
}

impl Customer {
    /// A customer who waits in `pid` for a message with that tag, and the side of that process.
    pub fn new(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(&machine.questions, None);
        Customer::with(pid, Some(machine.tags.copy(tag)), question, machine)
    }

    /// The same, who waits for what the machine answers itself, or another question does: it is counted, but no reason to
    /// look anew whether somebody waits in vain.
    pub fn inquiring(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::open(&machine.questions, None);
        machine.questions.inquired();
        Customer::with(pid, Some(machine.tags.copy(tag)), question, machine)
    }

    /// The same, who waits for the machine itself: no actor can break that promise, so it is not looked for.
    pub fn of_machine(
        pid: LocalPid,
        tag: Term<'_>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(&Arc::default(), None);
        Customer::with(pid, Some(machine.tags.copy(tag)), question, machine)
    }

    /// A customer whose answer is kept, and the side of those who look at it; asked by `pid`.
    pub fn future(
        pid: LocalPid,
        cell: Cell,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let question = Question::new(&machine.questions, Some(cell));
        Customer::with(pid, None, question, machine)
    }

    fn with(
        pid: LocalPid,
        tag: Option<OwnTerm>,
        question: Arc<Question>,
        machine: ResourceArc<MachineResource>,
    ) -> (ResourceArc<Customer>, Asker) {
        let asker = Asker(question.clone());
        let customer = Customer {
            pid,
            tag,
            question,
            machine,
        };
        (ResourceArc::new(customer), asker)
    }

    /// Claims the right to answer, once. The claimant must answer.
    pub fn claim(&self) -> bool {
        self.question.claim()
    }

    /// Whether it takes an answer.
    pub fn is_open(&self) -> bool {
        self.question.is_open()
    }

    /// Whether the answer is kept.
    pub fn is_future(&self) -> bool {
        self.question.cell.is_some()
    }

    /// Whether it is a future that was killed: also a call that nobody refers to any more, which has no effects that
    /// anybody could miss.
    pub fn is_killed(&self) -> bool {
        let state = self.question.state.load(Acquire);
        let cell = self.question.cell().filter(|_| state != OPEN);
        cell.is_some_and(|cell| cell.is_killed(state == CLOSED))
    }

    /// Who asked.
    pub fn pid(&self) -> &LocalPid {
        &self.pid
    }

    /// Answers with a value of the machine, on a dispatch thread; for the claimant. Whether somebody is there.
    pub fn give(&self, machine: &Machine, value: Value<'_>) -> bool {
        match &self.question.cell {
            Some(cell) => {
                cell.answer(machine, value);
                true
            }
            None => mail::tell(machine, &self.pid, |env, decoder| {
                self.tagged(env, decoder.term(env, machine, value))
            }),
        }
    }

    /// Answers with a term, in a NIF; for the claimant. Whether somebody is there.
    pub fn give_in<'a>(&self, env: Env<'a>, answer: Term<'a>) -> bool {
        match &self.question.cell {
            Some(cell) => {
                cell.answer_in(env, answer);
                true
            }
            None => message::send_in(env, &self.pid, self.tagged(env, answer)),
        }
    }

    /// Tells that a turn with this request was aborted, on a dispatch thread: a call is over then.
    pub fn aborted(&self, machine: &Machine, reason: Value<'_>) {
        if let Some(cell) = self.question.cell.as_ref().filter(|cell| cell.is_call) {
            if self.claim() {
                cell.aborted(machine, reason);
            }
        }
    }

    /// The message that carries an answer.
    pub fn tagged<'a>(&self, env: Env<'a>, answer: Term<'a>) -> Term<'a> {
        (self.tag_in(env), answer).encode(env)
    }

    /// The message that says why there will be no answer.
    pub fn failed<'a>(&self, env: Env<'a>, reason: BeamAtom) -> Term<'a> {
        (self.tag_in(env), names::failed(), reason).encode(env)
    }

    fn tag_in<'a>(&self, env: Env<'a>) -> Option<Term<'a>> {
        self.tag.as_ref().map(|tag| tag.to(env))
    }
}

#[rustler::resource_impl]
impl Resource for Customer {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

    // Nobody is left who could answer.
    fn destructor(self, env: Env<'_>) {
        if self.claim() {
            let reason = match self.machine.running() {
                Some(_) => {
                    self.machine.questions.broken();
                    names::broken_promise()
                }
                None => names::machine_down(),
            };
            match &self.question.cell {
                Some(cell) => cell.fail_in(env, reason),
                None => {
                    let message = self.failed(env, reason);
                    message::send_in(env, &self.pid, message);
                }
            }
        }
    }
}
