//! Beginning and ending the traces of a machine.
use super::Machine;
use crate::watching::trace::{Filter, Trace, Traced, Witness};

impl Machine {
    /// Shows turns to a witness from now on. Returns the number of the trace.
    pub fn trace(&self, filter: Filter, limit: u64, witness: Box<dyn Witness>) -> u64 {
        let trace = |number| Trace::new(number, filter, limit, witness);
        self.attention().add(trace)
    }

    /// Ends a trace; `None` when there is none of that number any more.
    pub fn end_trace(&self, number: u64) -> Option<Traced> {
        let trace = self.attention().remove(number)?;
        Some(trace.traced())
    }
}
