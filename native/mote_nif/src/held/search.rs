//! A search through the orders of a machine's turns, between the calls that let it go on.
use crate::term::resource::Resource;
use mote_vm::prove::Search;
use parking_lot::Mutex;

/// A search. It is away while it goes on.
pub struct SearchResource(pub Mutex<Option<Search>>);

impl Resource for SearchResource {}

resource_type!(SearchResource);
