//! A record of a panic in a dispatch thread.
use crate::base::atom::Atom;
use crate::code::program::BehaviourCode;
use crate::terms::view::View;
use crate::values::foreign::Class;
use crate::values::term::Term;
use crate::values::value::Value;
use std::any::Any;

/// A broken invariant, caught at a turn boundary.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The panic's message.
    pub text: String,
    /// The sponsor whose thread it was.
    pub sponsor: Atom,
    /// Module and name of the behaviour that was running; none between turns.
    pub behaviour: Option<(Atom, Atom)>,
    /// The kind of value that the message of that turn was, such as `tuple of 2`: the message itself may be secret,
    /// and reasons are logged.
    pub message_kind: Option<String>,
}

impl Fault {
    /// Creates the fault for a panic with that payload. To be called while the heaps are still there.
    pub(crate) fn of(
        payload: &(dyn Any + Send),
        sponsor: Atom,
        turn: Option<(&BehaviourCode, Value)>,
    ) -> Fault {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Fault {
            text: text.unwrap_or_else(|| "panic".to_string()),
            sponsor,
            behaviour: turn.map(|(behaviour, _)| (behaviour.module, behaviour.written)),
            message_kind: turn.map(|(_, message)| kind(Term::new(message))),
        }
    }
}

fn kind(message: Term<'_>) -> String {
    let kind = match message.view() {
        View::Integer(_) | View::Big(_) => "integer",
        View::Float(_) => "float",
        View::Atom(_) => "atom",
        View::EmptyList => "empty list",
        View::Cons(..) => "list",
        View::Tuple(elements) => return format!("tuple of {}", elements.len()),
        View::Map(_) => "map",
        View::Function(_) => "function",
        View::Bytes(_) => "binary",
        View::Bits(_) => "bitstring",
        View::On(..) | View::Address(_) => "address",
        View::Timer(_) => "reference",
        View::Foreign(foreign) => match foreign.class() {
            Class::BigInteger => "integer",
            Class::Reference | Class::Timer => "reference",
            Class::Function => "function",
            Class::Port => "port",
            Class::Address => "address",
            Class::Pid => "pid",
            Class::Map => "map",
            Class::Binary => "binary",
        },
    };
    kind.to_string()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_what_is_known() {
        let payload: Box<dyn Any + Send> = Box::new(format!("index {}", 7));
        let fault = Fault::of(&*payload, Atom::NIL, None);
        assert_eq!(fault.text, "index 7");
        assert_eq!((fault.behaviour, fault.message_kind), (None, None));
        let payload: Box<dyn Any + Send> = Box::new(7);
        assert_eq!(Fault::of(&*payload, Atom::NIL, None).text, "panic");
    }

    #[test]
    fn kinds_of_messages() {
        let of = |value| kind(Term::new(value));
        assert_eq!(of(Value::fixnum(1)), "integer");
        assert_eq!(of(Value::NIL), "atom");
        assert_eq!(of(Value::EMPTY_LIST), "empty list");
    }
}
