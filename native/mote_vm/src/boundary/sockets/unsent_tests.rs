//! How much waits to be written to one peer.
use crate::base::quota::Quota;
use crate::boundary::sockets::record::{SocketOptions, SocketRecord, SocketTerms, MAX_UNSENT};
use crate::boundary::sockets::transfer::{end_output, write_later};
use crate::values::value::Value;
use std::sync::Arc;

fn terms(max_unsent: Option<usize>) -> SocketTerms {
    SocketTerms {
        options: SocketOptions {
            nodelay: true,
            max_unsent,
            seals: None,
        },
        accepting: None,
    }
}

#[test]
fn what_waits_is_bounded_by_its_bytes_and_by_who_waits_for_them() {
    is_bounded(None, MAX_UNSENT);
    is_bounded(Some(terms(None)), MAX_UNSENT);
    is_bounded(Some(terms(Some(1_000))), 1_000);
}

fn is_bounded(terms: Option<SocketTerms>, most: usize) {
    let quota = Quota::default();
    let mut record = SocketRecord::for_tests(std::ptr::null());
    record.terms = terms.map(Arc::new);
    assert_eq!(
        record.is_overloaded(usize::MAX),
        None,
        "a write that is alone"
    );
    let mut writes = 0;
    while record.is_overloaded(1).is_none() {
        let writer = (Value::NIL, 1);
        assert!(write_later(&mut record, writer, |to| to.add(b"x"), &quota));
        writes += 1;
    }
    let each = 1 + size_of::<(u64, Value)>();
    assert_eq!(writes, most.div_ceil(each));
    assert_eq!(record.is_overloaded(1), Some(writes * each));
    end_output(&mut record, &quota);
    assert_eq!(record.is_overloaded(1), None);
}
