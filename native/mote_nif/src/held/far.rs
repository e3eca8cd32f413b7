//! Actors and customers of other nodes.
//!
//! The BEAM takes no notice of a reference that leaves a node or comes to one. So a message that goes from node to node says which
//! it contains, each with a number, and the process that takes such messages in (lib/mote/far/porter.ex) puts a [`FarKey`] in
//! place of what holds the actor at home. When the far key ends, nothing here has the reference any more.
//!
//! Invariants:
//! 1. A far key has the bytes of the key that it stands for: so two terms of one address are equal, wherever they came from.
use crate::held::handle::KEY_BYTES;
use crate::held::question::FarQuestion;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use rustler::{Encoder, Env, LocalPid, Resource, ResourceArc, Term};

/// What it is that takes messages there, as its term says.
#[derive(Clone, Copy)]
pub enum FarKind {
    /// An actor: the term is its `%Mote.Address{}`.
    Actor,
    /// A caller that waits: the term is its `%Mote.Customer{}`.
    Customer,
}

/// An actor or a customer of another node: its term.
pub struct Far {
    pub term: OwnTerm,
    /// Of a customer.
    pub question: Option<FarQuestion>,
}

/// The announcement of an address or a customer by another node, held by the key binary that is made of it.
pub struct FarKey {
    porter: LocalPid,
    number: u64,
    content: [u8; KEY_BYTES],
}

impl FarKey {
    /// The key binary with those bytes; its end is told to `porter`.
    pub fn key<'a>(
        env: Env<'a>,
        content: [u8; KEY_BYTES],
        porter: LocalPid,
        number: u64,
    ) -> Term<'a> {
        let key = ResourceArc::new(FarKey {
            porter,
            number,
            content,
        });
        key.make_binary(env, |key| &key.content).to_term(env)
    }
}

#[rustler::resource_impl]
impl Resource for FarKey {}

impl Drop for FarKey {
    fn drop(&mut self) {
        let dropped = OwnTerm::make(|env| Some((names::dropped(), self.number).encode(env)));
        if let Some(message) = dropped {
            message.send(&self.porter);
        }
    }
}
