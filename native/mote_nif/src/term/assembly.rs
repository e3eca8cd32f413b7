//! Putting terms together from their parts, and leaving the rest of that to another thread.
//!
//! The BEAM makes a large map at once only on its own threads (maps.rs). A term with one is therefore left unfinished on any other
//! thread: the parts exist, in an environment of their own, and the remaining steps are kept. A thread of the BEAM takes these
//! steps, in the same environment.
//!
//! Invariants:
//! 1. The environment of an unfinished term has no other terms, and nobody else writes to it. Its terms do not move.
//! 2. The gap stands in the message itself, or as an element of the tuple that the message is.
use crate::term::maps;
use crate::term::own_term::OwnTerm;
use crate::term::read::tuple_elements;
use rustler::sys::{enif_make_list_cell, enif_make_tuple_from_array, ErlNifTerm};
use rustler::{Env, LocalPid, Term};

/// A step that takes its parts off a stack and puts a term onto it.
pub enum AssemblyStep {
    /// A term without parts, or one that is whole already.
    Term(ErlNifTerm),
    /// The last element is on top.
    Tuple(usize),
    /// The tail lies deepest, the first element on top.
    List(usize),
    /// A list whose elements lie in order, and its tail on top.
    Front(usize),
    /// The keys lie below the values.
    Map(usize),
}

/// Takes a step. All terms belong to `env`, and are made of about `weight` terms.
pub fn take(env: Env<'_>, step: AssemblyStep, made: &mut Vec<ErlNifTerm>, weight: usize) {
    let term = match step {
        AssemblyStep::Term(term) => term,
        AssemblyStep::Tuple(count) => tuple(env, made, made.len().saturating_sub(count)),
        AssemblyStep::List(count) => list(env, made, count),
        AssemblyStep::Front(count) => {
            let from = made.len() - count - 1;
            made[from..].reverse();
            list(env, made, count)
        }
        AssemblyStep::Map(count) => {
            let from = made.len() - 2 * count;
            let (keys, values) = made[from..].split_at(count);
            let map = maps::make(env, keys, values, weight);
            made.truncate(from);
            map
        }
    };
    made.push(term);
}

/// Makes a tuple of the terms on the stack from there on, which are taken off.
pub fn tuple(env: Env<'_>, made: &mut Vec<ErlNifTerm>, from: usize) -> ErlNifTerm {
    let tuple = tuple_of(env, &made[from..]);
    made.truncate(from);
    tuple
}

/// Makes a tuple of terms of that environment.
#[inline]
pub fn tuple_of(env: Env<'_>, elements: &[ErlNifTerm]) -> ErlNifTerm {
    // SAFETY: the elements belong to `env`.
    unsafe { enif_make_tuple_from_array(env.as_c_arg(), elements.as_ptr(), elements.len() as u32) }
}

fn list(env: Env<'_>, made: &mut Vec<ErlNifTerm>, count: usize) -> ErlNifTerm {
    let from = made.len() - count - 1;
    let mut list = made[from];
    for head in &made[from + 1..] {
        // SAFETY: head and tail belong to `env`.
        list = unsafe { enif_make_list_cell(env.as_c_arg(), *head, list) };
    }
    made.truncate(from);
    list
}

/// The remaining work of an unfinished term.
pub struct UnfinishedTerm {
    gap: ErlNifTerm,
    made: Vec<ErlNifTerm>,
    steps: Vec<AssemblyStep>,
}

impl UnfinishedTerm {
    /// The steps that are left, with what the stack holds; and the term that stands for the result.
    pub fn new<'a>(
        env: Env<'a>,
        made: Vec<ErlNifTerm>,
        steps: Vec<AssemblyStep>,
    ) -> (UnfinishedTerm, Term<'a>) {
        // Any term that is boxed is known by its word (invariant 1).
        let gap = tuple(env, &mut vec![Term::list_new_empty(env).as_c_arg()], 0);
        let unfinished = UnfinishedTerm { gap, made, steps };
        // SAFETY: made in `env` just now.
        (unfinished, unsafe { Term::new(env, gap) })
    }

    /// Takes the steps: `message` with the result in the place of the gap.
    fn finish<'a>(mut self, env: Env<'a>, message: Term<'a>) -> Term<'a> {
        let weight = self.steps.len();
        for step in self.steps {
            take(env, step, &mut self.made, weight);
        }
        let Some(result) = self.made.pop() else {
            return message;
        };
        let fill = |term: &ErlNifTerm| if *term == self.gap { result } else { *term };
        let filled = match message.as_c_arg() == self.gap {
            true => result,
            false => {
                let mut elements = tuple_elements(message).iter().map(fill).collect();
                tuple(env, &mut elements, 0)
            }
        };
        // SAFETY: it belongs to `env`, as all its parts do.
        unsafe { Term::new(env, filled) }
    }
}

/// A term on its way to a process, whole or with a gap.
pub struct Assembled {
    term: OwnTerm,
    rest: Option<Box<UnfinishedTerm>>,
}

impl Assembled {
    /// A term, and its remaining steps: then the term is alone in its environment.
    pub fn new(term: OwnTerm, rest: Option<UnfinishedTerm>) -> Assembled {
        let rest = rest.map(Box::new);
        Assembled { term, rest }
    }

    /// Returns the number of steps that are left.
    pub fn steps(&self) -> usize {
        self.rest.as_ref().map_or(0, |rest| rest.steps.len())
    }

    /// Extends the message to what `build` makes of it: a tuple that has it as an element.
    pub fn extended(
        mut self,
        build: impl for<'a> FnOnce(Env<'a>, Term<'a>) -> Term<'a>,
    ) -> Assembled {
        self.term.extend(build);
        self
    }

    /// The whole term: quickly on a thread of the BEAM.
    pub fn finish(mut self) -> OwnTerm {
        self.complete();
        self.term
    }

    fn complete(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.term.extend(|env, term| rest.finish(env, term));
        }
    }

    /// Sends it, whole. Returns whether the process is there.
    pub fn send(self, pid: &LocalPid) -> bool {
        self.finish().send(pid)
    }

    /// The word of the whole term, good only while this is alive.
    pub fn whole(&mut self) -> ErlNifTerm {
        self.complete();
        self.term.raw()
    }
}

impl From<OwnTerm> for Assembled {
    fn from(term: OwnTerm) -> Assembled {
        Assembled::new(term, None)
    }
}
