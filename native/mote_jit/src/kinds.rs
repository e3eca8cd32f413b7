//! What the compiler knows about a value's type: the set of kinds that it can have.
use mote_vm::terms::prim::primitive::{Answer, Primitive};
use mote_vm::values::value::Value;

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kinds(u16);

impl Kinds {
    /// No kind: a value that is not written yet.
    pub(super) const NONE: Kinds = Kinds(0);
    pub(super) const FIXNUM: Kinds = Kinds(1);
    /// Floats, immediate and boxed.
    pub(super) const FLOAT: Kinds = Kinds(2);
    pub(super) const BOOLEAN: Kinds = Kinds(4);
    /// Atoms that are not booleans.
    pub(super) const OTHER_ATOM: Kinds = Kinds(8);
    pub(super) const EMPTY_LIST: Kinds = Kinds(16);
    pub(super) const CONS: Kinds = Kinds(32);
    pub(super) const TUPLE: Kinds = Kinds(64);
    /// Addresses of actors.
    pub(super) const ACTOR: Kinds = Kinds(128);
    /// Integers that are not fixnums, binaries, references with a sponsor, and values that the machine cannot look into (pids,
    /// …).
    pub(super) const OTHER: Kinds = Kinds(256);

    /// Numbers: integers that are words, and floats.
    pub(super) const NUMBER: Kinds = Kinds::FIXNUM.or(Kinds::FLOAT);
    /// Integers of any size.
    pub(super) const INTEGER: Kinds = Kinds::FIXNUM.or(Kinds::OTHER);
    pub(super) const ATOM: Kinds = Kinds::BOOLEAN.or(Kinds::OTHER_ATOM);
    pub(super) const LIST: Kinds = Kinds::EMPTY_LIST.or(Kinds::CONS);
    pub(super) const ANY: Kinds = Kinds(511);

    pub(super) const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(super) const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    pub(super) const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    /// Returns whether a value can be of any of these kinds.
    pub(super) const fn can_be(self, kinds: Kinds) -> bool {
        self.0 & kinds.0 != 0
    }

    /// Returns whether a value is certainly of one of these kinds.
    pub(super) const fn is(self, kinds: Kinds) -> bool {
        self.0 & !kinds.0 == 0
    }

    pub(super) fn of(value: Value) -> Kinds {
        if value.is_fixnum() {
            Kinds::FIXNUM
        } else if value.as_float().is_some() {
            Kinds::FLOAT
        } else if value == Value::TRUE || value == Value::FALSE {
            Kinds::BOOLEAN
        } else if value.as_atom().is_some() {
            Kinds::OTHER_ATOM
        } else if value == Value::EMPTY_LIST {
            Kinds::EMPTY_LIST
        } else if value.is_cons() {
            Kinds::CONS
        } else if value.as_tuple().is_some() {
            Kinds::TUPLE
        } else if value.is_address() {
            Kinds::ACTOR
        } else {
            Kinds::OTHER
        }
    }

    /// The kinds that a type test is certainly true of, and those that it can be true of. `None` if it is not a test.
    pub(super) fn tested(p: Primitive) -> Option<(Kinds, Kinds)> {
        use Primitive as P;
        Some(match p {
            P::IsInteger => (Kinds::FIXNUM, Kinds::INTEGER),
            P::IsFloat => (Kinds::FLOAT, Kinds::FLOAT),
            P::IsNumber => (Kinds::NUMBER, Kinds::NUMBER.or(Kinds::OTHER)),
            P::IsAtom => (Kinds::ATOM, Kinds::ATOM),
            P::IsBoolean => (Kinds::BOOLEAN, Kinds::BOOLEAN),
            P::IsTuple => (Kinds::TUPLE, Kinds::TUPLE),
            P::IsList => (Kinds::LIST, Kinds::LIST),
            P::IsAddress => (Kinds::ACTOR, Kinds::ACTOR.or(Kinds::OTHER)),
            P::IsBinary | P::IsBitstring | P::IsMap | P::IsFunction | P::IsReference | P::IsPid => {
                (Kinds::NONE, Kinds::OTHER)
            }
            _ => return None,
        })
    }

    /// Returns the kinds that a primitive's answers can be of.
    pub(super) fn answers(p: Primitive) -> Kinds {
        match p.answer() {
            Answer::Any => Kinds::ANY,
            Answer::Number => Kinds::NUMBER.or(Kinds::OTHER),
            Answer::Integer => Kinds::INTEGER,
            Answer::Fixnum => Kinds::FIXNUM,
            Answer::Float => Kinds::FLOAT,
            Answer::Boolean => Kinds::BOOLEAN,
            Answer::List => Kinds::LIST,
            Answer::Tuple => Kinds::TUPLE,
        }
    }
}
