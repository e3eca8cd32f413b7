//! The interface through which the marker is shown values.
use crate::turns::queue::{Event, EventQueue};
use crate::values::actor::Actor;
use crate::values::value::Value;

/// Handles each thing that may be reached.
pub(crate) trait Visitor {
    fn value(&mut self, value: Value);

    fn actor(&mut self, actor: *const Actor) {
        self.value(Value::address(actor));
    }

    fn event(&mut self, event: Event) {
        self.actor(event.target);
        self.value(event.message);
    }

    fn queue(&mut self, queue: &EventQueue) {
        queue.each(|event| self.event(event));
    }
}
