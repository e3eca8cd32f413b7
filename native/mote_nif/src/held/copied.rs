//! A message that waits for its process outside of all heaps, in an outbox or in the mail.
use crate::term::own_term::OwnTerm;
use mote_vm::boundary::outbox::Charge;

/// A message that is not a small and plain value, and what it is charged with.
pub struct Copied {
    pub term: OwnTerm,
    pub _charge: Charge,
    /// Number of the term's parts.
    pub nodes: usize,
}

impl AsRef<OwnTerm> for Copied {
    fn as_ref(&self) -> &OwnTerm {
        &self.term
    }
}
