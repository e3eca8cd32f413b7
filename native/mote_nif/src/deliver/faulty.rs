//! A customer that makes the dispatch thread that answers it panic: for tests of faults.
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign};
use mote_vm::Term as VmTerm;
use std::cmp::Ordering;

/// A customer that makes the dispatch thread that answers it panic.
pub struct FaultyCustomer;

impl Foreign for FaultyCustomer {
    fn class(&self) -> Class {
        Class::Address
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver(&self, _: VmTerm<'_>, _: &dyn Carrier) -> Delivery {
        panic!("a fault that a test asked for")
    }
    fn compare(&self, _: &dyn Foreign) -> Ordering {
        Ordering::Less
    }
}
