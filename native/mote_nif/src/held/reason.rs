//! The reasons why there is no answer.
use crate::term::atoms::{self, names};
use crate::term::own_term::OwnTerm;
use mote_vm::base::atom::Atom as VmAtom;
use rustler::{Atom, Encoder, Env, Term};

/// The reason why there is no answer: a word, or a tuple that begins with one.
#[derive(Clone)]
pub enum Reason {
    Word(Atom),
    About(OwnTerm),
    /// Nobody is left, and a message with the customer was ignored by the behaviour of that module and name. It has no term: many
    /// questions may be open that somebody has ignored, and an environment for each would be most of what they take.
    Ignored(VmAtom, VmAtom),
}

impl Reason {
    pub fn to<'a>(&self, env: Env<'a>) -> Term<'a> {
        match self {
            Reason::Word(word) => word.encode(env),
            Reason::About(term) => term.to(env),
            Reason::Ignored(module, behaviour) => {
                let [module, behaviour] =
                    [*module, *behaviour].map(|atom| atoms::to_term(env, atom));
                (names::broken_promise(), module, behaviour).encode(env)
            }
        }
    }
}
