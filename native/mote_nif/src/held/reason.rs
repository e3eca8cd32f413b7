//! Why there is no answer.
use crate::term::own_term::OwnTerm;
use rustler::{Atom, Encoder, Env, Term};

/// Why there is no answer: a word, or a tuple that begins with one.
#[derive(Clone)]
pub enum Reason {
    Word(Atom),
    About(OwnTerm),
}

impl Reason {
    pub fn to<'a>(&self, env: Env<'a>) -> Term<'a> {
        match self {
            Reason::Word(word) => word.encode(env),
            Reason::About(term) => term.to(env),
        }
    }
}
