//! Values of a machine on the way out to the BEAM.
//!
//! A value is walked with a stack of its own and built from the leaves up on a second one; nesting costs memory,
//! never native stack. Anything that an aborted turn has made becomes `%Mote.Uncommitted{}`, which is not an address.
mod beginning;

use crate::codec::budget::MOST_KEPT;
use crate::codec::carried;
use crate::held::bridge::pin;
use crate::held::handle::Handle;
use crate::held::{foreign, structs};
use crate::term::assembly::{self, AssemblyStep, UnfinishedTerm};
use crate::term::atoms::{self, names};
use crate::term::{external, make, maps};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::values::big::Big;
use mote_vm::values::bits::Bits;
use mote_vm::values::foreign::{Carrier, Class};
use mote_vm::{ActorRef, Committed, FunctionTerm, Origin, Term as VmTerm, Uncommitted, View};
use rustler::sys::ErlNifTerm;
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Env, Term};

/// A step of the walk. The values are borrowed for the length of one call of [`Decoder::term`].
enum DecodeStep<'m, O = Committed> {
    Visit(VmTerm<'m, O>),
    Tuple(usize),
    List(usize),
    /// A list whose elements lie in order, and its tail on top.
    Front(usize),
    Map(usize),
    /// The next of so many values, which share the room until there. (No step is larger than the others.)
    Share(u32, u32),
    /// The end of a list that was cut.
    End,
    /// A placeholder for a part that is not shown.
    More,
}

/// Most elements of a tuple that is written flat.
const FLAT: usize = 8;

/// Nodes from which a term counts as large. A part that may be large, unseen, counts as this many.
pub const LARGE: usize = 1_000;

/// Bytes of a term: an element of a list counts twice.
const NODE: usize = size_of::<ErlNifTerm>();

/// Bytes above which a part of a binary that the BEAM has is shared with it.
const SHARED_PART: usize = 512;

/// Room for terms that is kept from one message to the next.
const TERMS_KEPT: usize = 4_096;

/// Terms that are shown of an actor's captures: a fraction of a millisecond.
const LOOK: usize = 4_000;

/// Bytes that cost as much as one term.
const BYTES_PER_NODE: usize = 64;

/// Parts of a value that are shown when it is only glanced at.
const GLANCE: usize = 200;

/// Parts of the reason of an abort: `{:crashed, kind, reason, stacktrace}`.
const REASON: usize = 4;

/// Bytes of a binary that are shown when it is only glanced at.
const GLANCE_BYTES: usize = 256;

/// Bytes of all integers together that are shown then. Some integers are too large to be added up, but still recognisable as integers.
const GLANCE_INTEGERS: usize = 256 << 10;

/// Builds terms and keeps count of what they are made of.
#[derive(Default)]
pub struct Decoder {
    nodes: usize,
    /// Nodes that only stand for parts that may be large, and for bytes of binaries; included in `nodes`.
    guessed: usize,
    copied: usize,
    /// Bytes of binaries that are not copied.
    shared: usize,
    holds: bool,
    limited: bool,
    /// Number of terms that may be made; the rest is not shown.
    limit: Option<usize>,
    waits: bool,
    /// Numbers of the things an aborted turn had made that were met.
    uncommitted: Vec<usize>,
    made: Vec<ErlNifTerm>,
    /// True if steps may be left to another thread. The fields below it: true if they may be steps of this term, the steps left, and a
    /// term left unfinished.
    may_leave: bool,
    is_message: bool,
    later: Option<Vec<AssemblyStep>>,
    unfinished: Option<UnfinishedTerm>,
    /// Empty between two terms: only its room is kept.
    steps: Vec<DecodeStep<'static>>,
}

/// The room of a list of steps, for steps of another time.
fn emptied<'a, O, P>(mut steps: Vec<DecodeStep<'_, O>>) -> Vec<DecodeStep<'a, P>> {
    steps.clear();
    steps.shrink_to(TERMS_KEPT);
    // Nothing is left to be mapped; the allocation stays.
    steps.into_iter().map(|_| DecodeStep::More).collect()
}

/// Makes the term of a value that has no parts and holds on to nothing. Returns `None` for any other value.
fn leaf<'m, O: Origin<'m>>(env: Env<'_>, view: View<'m, O>) -> Option<ErlNifTerm> {
    let term = match view {
        View::Integer(n) => n.encode(env),
        View::Float(f) => f.encode(env),
        View::Atom(atom) => atoms::to_term(env, atom),
        View::EmptyList => Term::list_new_empty(env),
        View::Big(big) if big.limbs().len() == 1 => make::integer(env, big)?,
        _ => return None,
    };
    Some(term.as_c_arg())
}

impl Decoder {
    /// Starts counting again.
    pub fn start(&mut self) {
        (self.nodes, self.guessed, self.copied, self.shared) = (0, 0, 0, 0);
        self.holds = false;
        self.limited = false;
        self.uncommitted.clear();
        self.limit = None;
        (self.may_leave, self.is_message) = (false, false);
        (self.later, self.unfinished) = (None, None);
        self.made.clear();
        self.made.shrink_to(TERMS_KEPT);
    }

    /// Notes that the term being built keeps something alive.
    pub fn keep(&mut self) {
        self.holds = true;
    }

    /// Returns the number of terms made since [`Decoder::start`].
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns about how many bytes the terms take, excluding values the machine has not inspected.
    pub fn size(&self) -> usize {
        (self.nodes - self.guessed) * NODE + self.copied + self.shared
    }

    /// A decoder for what waits, and is charged with its size: it shares no part of a binary that keeps much more than itself
    /// alive.
    pub fn for_what_waits() -> Decoder {
        Decoder {
            waits: true,
            ..Decoder::default()
        }
    }

    /// Returns whether a term keeps an actor, a customer or a long binary alive.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Makes a term of the beginning of a value, for reading. From here on, other values are cut as well.
    pub fn glance<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        value: VmTerm<'m, O>,
    ) -> Term<'a> {
        self.limited = true;
        self.limit = Some(GLANCE);
        (self.nodes, self.guessed) = (0, 0);
        self.term(env, machine, value)
    }

    /// Glances at each part of an abort's reason by itself. So the lines of a stacktrace are there whatever was raised.
    pub fn reason<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        reason: VmTerm<'m, O>,
    ) -> Term<'a> {
        match reason.view() {
            View::Tuple(parts) if parts.len() <= REASON => {
                let parts = parts.iter().map(|part| self.glance(env, machine, part));
                make_tuple(env, &parts.collect::<Vec<_>>())
            }
            _ => self.glance(env, machine, reason),
        }
    }

    /// Limits all further values together to as much as quickly becomes a term. What is shown is exact.
    pub fn look(&mut self) {
        self.limit = Some(LOOK);
    }

    /// The term of a value that is the message, or an element of the tuple that the message is: where it may (`may_leave`), it
    /// is left unfinished. Terms that stand deeper never are (assembly.rs, invariant 2).
    pub fn message<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        value: VmTerm<'m, O>,
    ) -> Term<'a> {
        self.is_message = self.may_leave;
        let term = self.term(env, machine, value);
        self.is_message = false;
        term
    }

    /// The term of a value.
    pub fn term<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        value: VmTerm<'m, O>,
    ) -> Term<'a> {
        if let Some(term) = self.flat(env, value) {
            // SAFETY: made in `env` just now.
            return unsafe { Term::new(env, term) };
        }
        let mut steps = emptied(std::mem::take(&mut self.steps));
        steps.push(DecodeStep::Visit(value));
        while let Some(step) = steps.pop() {
            let step = match step {
                DecodeStep::Share(values, end) => {
                    self.share(values, end);
                    continue;
                }
                DecodeStep::Visit(value) => match self.visit(env, machine, value, &mut steps) {
                    Some(term) => AssemblyStep::Term(term.as_c_arg()),
                    None => continue,
                },
                DecodeStep::Tuple(count) => AssemblyStep::Tuple(count),
                DecodeStep::List(count) => AssemblyStep::List(count),
                DecodeStep::Front(count) => AssemblyStep::Front(count),
                DecodeStep::Map(count) => AssemblyStep::Map(count),
                DecodeStep::End => AssemblyStep::Term(Term::list_new_empty(env).as_c_arg()),
                DecodeStep::More => AssemblyStep::Term(names::more().to_term(env).as_c_arg()),
            };
            self.take(env, step);
        }
        self.steps = emptied(steps);
        if let Some(steps) = self.later.take() {
            let (unfinished, gap) = UnfinishedTerm::new(env, std::mem::take(&mut self.made), steps);
            self.unfinished = Some(unfinished);
            return gap;
        }
        match self.made.pop() {
            // SAFETY: made in `env` just now.
            Some(term) => unsafe { Term::new(env, term) },
            None => names::nil().to_term(env),
        }
    }

    /// A leaf that stands for itself, or a tuple of some, as most messages are: made without any steps.
    fn flat<'m, O: Origin<'m>>(
        &mut self,
        env: Env<'_>,
        value: VmTerm<'m, O>,
    ) -> Option<ErlNifTerm> {
        let elements = match value.view() {
            View::Tuple(elements) => elements,
            view => {
                let term = leaf(env, view)?;
                self.nodes += 1;
                return Some(term);
            }
        };
        let (from, count) = (self.made.len(), elements.len());
        if count > FLAT {
            return None;
        }
        for element in elements.iter() {
            match leaf(env, element.view()) {
                Some(term) => self.made.push(term),
                None => {
                    self.made.truncate(from);
                    return None;
                }
            }
        }
        self.nodes += 1 + count;
        Some(assembly::tuple(env, &mut self.made, from))
    }

    /// A leaf, or the steps that make it.
    fn visit<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        value: VmTerm<'m, O>,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) -> Option<Term<'a>> {
        if !self.limited {
            self.nodes += 1;
            if self.full(0) {
                return Some(names::more().to_term(env));
            }
        }
        Some(match value.view() {
            View::Tuple(_) | View::Map(_) | View::Cons(..) if self.limited => {
                match self.beginning(env, value, steps) {
                    true => return None,
                    false => names::more().to_term(env),
                }
            }
            view @ (View::Integer(_) | View::Float(_) | View::Atom(_) | View::EmptyList) => {
                // SAFETY: made in `env` just now.
                return leaf(env, view).map(|term| unsafe { Term::new(env, term) });
            }
            View::Big(big) => self.integer(env, big),
            View::Bytes(bytes) => self.part(env, value, bytes),
            View::Bits(bits) => self.bits(env, bits),
            View::Address(actor) => self.address(env, machine, actor, None),
            View::Timer(timer) => {
                self.holds = true;
                match pin(machine) {
                    Some(resource) => structs::timer(env, resource.encode(env), timer),
                    // After the end: nobody could use it.
                    None => names::nil().to_term(env),
                }
            }
            View::Uncommitted(undone) => self.uncommitted(env, undone.into()),
            View::On(sponsor, target) => self.on(env, machine, sponsor, target, steps)?,
            View::Foreign(value) => {
                self.holds |= value.class() != Class::Pid;
                // Of a look the copying is counted, below.
                if self.limit.is_none() && foreign::is_large(value) {
                    self.nodes += LARGE;
                    self.guessed += LARGE;
                }
                match value.class() {
                    _ if !self.limited && !self.affords(foreign::copied(value)) => {
                        names::more().to_term(env)
                    }
                    _ if !self.limited => {
                        self.shared += foreign::kept(value);
                        carried::to_term(env, value)
                    }
                    // A caller that only looks does not keep a promise alive.
                    Class::Address if foreign::is_customer(value) => structs::lost_customer(env),
                    Class::Reference | Class::Timer | Class::Port | Class::Address | Class::Pid => {
                        carried::to_term(env, value)
                    }
                    Class::Binary => self.bytes(env, value.bytes().unwrap_or_default()),
                    _ => names::more().to_term(env),
                }
            }
            View::Tuple(elements) => {
                if self.full(elements.len()) {
                    return Some(names::more().to_term(env));
                }
                steps.push(DecodeStep::Tuple(elements.len()));
                steps.extend(elements.iter().rev().map(DecodeStep::Visit));
                return None;
            }
            View::Map(map) => {
                if self.full(2 * map.len()) {
                    return Some(names::more().to_term(env));
                }
                steps.push(DecodeStep::Map(map.len()));
                let at = steps.len();
                steps.extend(map.iter().map(|(key, _)| DecodeStep::Visit(key)));
                steps.extend(map.iter().map(|(_, value)| DecodeStep::Visit(value)));
                steps[at..].reverse();
                return None;
            }
            View::Cons(..) => {
                self.spine(value, steps);
                return None;
            }
            View::Function(function) => {
                if self.full(structs::FUNCTION_FIELDS + function.captures.len()) {
                    return Some(names::more().to_term(env));
                }
                self.function(env, &function, steps);
                return None;
            }
        })
    }

    /// Steps for `%Mote.Function{}`.
    fn function<'m, O: Origin<'m>>(
        &mut self,
        env: Env<'_>,
        function: &FunctionTerm<'m, O>,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) {
        let captures = function.captures.iter();
        for term in structs::function(env, function) {
            self.take(env, AssemblyStep::Term(term.as_c_arg()));
        }
        steps.push(DecodeStep::Map(structs::FUNCTION_FIELDS));
        match self.limited {
            true => steps.push(DecodeStep::More),
            false => {
                steps.push(DecodeStep::Tuple(captures.len()));
                steps.extend(captures.rev().map(DecodeStep::Visit));
            }
        }
    }

    fn full(&self, coming: usize) -> bool {
        self.limit.is_some_and(|limit| self.nodes + coming > limit)
    }

    /// Returns whether there is room for a copy of that many bytes. If there is room, and a limit holds, spends the cost.
    fn affords(&mut self, bytes: usize) -> bool {
        let nodes = bytes / BYTES_PER_NODE;
        if self.full(nodes) {
            return false;
        }
        if self.limit.is_some() {
            self.nodes += nodes;
        }
        true
    }

    /// Steps for the elements of a list and its tail.
    fn spine<'m, O: Origin<'m>>(
        &mut self,
        list: VmTerm<'m, O>,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) {
        let at = steps.len();
        steps.push(DecodeStep::List(0));
        let (mut rest, mut cut) = (list, false);
        let most = match self.limit {
            // Each counts here and where it is visited.
            Some(limit) => limit.saturating_sub(self.nodes) / 2,
            None => usize::MAX,
        };
        while let View::Cons(head, tail) = rest.view() {
            if steps.len() - at > most {
                cut = true;
                break;
            }
            steps.push(DecodeStep::Visit(head));
            rest = tail;
        }
        let count = steps.len() - at - 1;
        self.nodes += count;
        steps.push(if cut {
            DecodeStep::More
        } else {
            DecodeStep::Visit(rest)
        });
        steps[at] = DecodeStep::List(count);
    }

    /// Takes a step, or leaves it: a large map, where another thread makes it faster, and all steps after that.
    #[inline]
    fn take(&mut self, env: Env<'_>, step: AssemblyStep) {
        match (&mut self.later, &step) {
            (Some(later), _) => return later.push(step),
            (None, AssemblyStep::Map(count)) if self.is_message && maps::is_slow(*count) => {
                self.later = Some(vec![step]);
                return;
            }
            _ => {}
        }
        assembly::take(env, step, &mut self.made, self.nodes);
    }

    /// Allows the term of the message to be left unfinished from here on, if it has a large map.
    pub fn may_leave(&mut self) {
        self.may_leave = true;
    }

    /// Takes the remaining work of the last term, if it was left unfinished.
    pub fn unfinished(&mut self) -> Option<UnfinishedTerm> {
        self.unfinished.take()
    }

    /// Part of a long binary is not copied, if the whole is shared with the BEAM.
    fn part<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        value: VmTerm<'m, O>,
        bytes: &[u8],
    ) -> Term<'a> {
        let whole = match bytes.len() > SHARED_PART && !self.limited {
            true => value.whole().filter(|whole| {
                let keeps_little = foreign::kept(whole) <= MOST_KEPT * bytes.len();
                keeps_little || !self.waits
            }),
            false => None,
        };
        match whole
            .and_then(|whole| Some((foreign::kept(whole), foreign::part(env, whole, bytes)?)))
        {
            Some((kept, term)) => {
                self.shared += kept;
                self.holds = true;
                term
            }
            None if !self.limited && !self.affords(bytes.len()) => names::more().to_term(env),
            None => self.bytes(env, bytes),
        }
    }

    fn integer<'a>(&mut self, env: Env<'a>, big: Big<'_>) -> Term<'a> {
        let bytes = size_of_val(big.limbs());
        let shown = match self.limited {
            true => self.copied + bytes <= GLANCE_INTEGERS,
            false => self.affords(bytes),
        };
        let term = shown.then(|| make::integer(env, big)).flatten();
        self.copied += bytes;
        if self.limit.is_none() {
            // Copying it takes as long as making that many terms.
            self.nodes += bytes / BYTES_PER_NODE;
            self.guessed += bytes / BYTES_PER_NODE;
        }
        term.unwrap_or_else(|| names::more().to_term(env))
    }

    fn bytes<'a>(&mut self, env: Env<'a>, bytes: &[u8]) -> Term<'a> {
        let shown = match self.limited {
            true => &bytes[..bytes.len().min(GLANCE_BYTES)],
            false => bytes,
        };
        // Up to 64 bytes lie in the message itself.
        self.holds |= shown.len() > 64;
        self.copied += shown.len();
        make::bytes(env, shown)
    }

    /// A bitstring that is no binary, which is shown as a whole or not at all.
    fn bits<'a>(&mut self, env: Env<'a>, bits: Bits<'_>) -> Term<'a> {
        let bytes = bits.bytes();
        let shown = match self.limited {
            true => bytes <= GLANCE_BYTES,
            false => self.affords(bytes),
        };
        let term = shown.then(|| external::bitstring_term(env, bits)).flatten();
        self.holds |= bytes > 64;
        self.copied += bytes;
        term.unwrap_or_else(|| names::more().to_term(env))
    }

    /// The address of an actor, which it keeps alive.
    pub fn address<'a>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        actor: ActorRef<'_>,
        sponsor: Option<VmAtom>,
    ) -> Term<'a> {
        self.holds = true;
        match pin(machine) {
            Some(resource) => {
                let handle = Handle::new(resource.clone(), machine.acquire(actor));
                structs::address(env, &resource, handle.key(env), sponsor)
            }
            // After the end: nobody could use it.
            None => names::nil().to_term(env),
        }
    }

    /// Makes the term of something uncommitted. They are numbered, so that each is itself wherever it is mentioned.
    fn uncommitted<'a>(&mut self, env: Env<'a>, undone: Uncommitted<'_>) -> Term<'a> {
        let met = self
            .uncommitted
            .iter()
            .position(|one| *one == undone.identity());
        let at = met.unwrap_or_else(|| {
            self.uncommitted.push(undone.identity());
            self.uncommitted.len() - 1
        });
        structs::uncommitted(env, undone.behaviour(), at + 1)
    }

    fn on<'a, 'm, O: Origin<'m>>(
        &mut self,
        env: Env<'a>,
        machine: &dyn Carrier,
        sponsor: VmTerm<'m, O>,
        target: VmTerm<'m, O>,
        steps: &mut Vec<DecodeStep<'m, O>>,
    ) -> Option<Term<'a>> {
        match (sponsor.view(), target.view()) {
            (View::Atom(sponsor), View::Address(actor)) => {
                Some(self.address(env, machine, actor, Some(sponsor)))
            }
            // A process or a customer has no sponsor to go to.
            _ => {
                steps.push(DecodeStep::Visit(target));
                None
            }
        }
    }
}
