//! A message that takes long to copy, taken out of its outbox.
use crate::held::aside::aside;
use crate::term::own_term::OwnTerm;
use crate::term::resource::Resource;
use rustler::Env;

/// A message that takes long to copy, taken out of its outbox.
pub struct LargeLetter(pub OwnTerm);

impl Resource for LargeLetter {
    fn destructor(self, _env: Env<'_>) {
        aside(move || drop(self.0));
    }
}

resource_type!(LargeLetter);
