//! A message that takes long to copy, taken out of its outbox.
use crate::held::aside::aside;
use crate::term::own_term::OwnTerm;
use rustler::{Env, Resource};

/// A message that takes long to copy, taken out of its outbox.
pub struct LargeLetter(pub OwnTerm);

#[rustler::resource_impl]
impl Resource for LargeLetter {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

    fn destructor(self, _env: Env<'_>) {
        aside(move || drop(self.0));
    }
}
