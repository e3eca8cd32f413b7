//! How the fast body computes a primitive, based on what is known about its operands.
use super::facts::Knowledge;
use super::kinds::Kinds;
use mote_vm::code::ir::Operand;
use mote_vm::native::math_function;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// The way to compute a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// Computed on fixnums; any other operand leaves the fast body.
    Fixnums,
    /// Computed on floats; an operand that is not a number leaves the fast body.
    Floats,
    /// Computed on a float, to the integer beside it; one that is not a fixnum leaves the fast body.
    Whole,
    /// Computed by a helper that answers a machine float. It has an effect, so it is called once.
    Draw,
    /// Computed on numbers of any type; any other operand leaves the fast body.
    Numbers,
    /// Computed in line for the usual types, by a helper for the others.
    Test,
    /// Computed in line; an operation without an answer leaves the fast body.
    Take,
    /// Computed in line for what is usual in binaries, by a helper for the rest.
    Read,
    /// Computed in line where a map has no atoms among its keys, by a helper elsewhere.
    AtomKey,
    /// Computed by a helper.
    Helper,
}

impl Knowledge {
    /// Returns whether a primitive that is computed on floats also takes an operand as it comes if that is an integer. Otherwise a number
    /// of unknown kind is taken for a float, like the operands beside it.
    pub(super) fn takes_integers(&self, p: Primitive, arg: Operand) -> bool {
        let beside = matches!(arg, Operand::Register(r) if self.known(r).beside);
        self.repeats || p == Primitive::Fdiv || math_function(p).is_some() || beside
    }

    /// Decides how the fast body computes a primitive here.
    pub(super) fn plan(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Plan {
        use Primitive as P;
        let kinds = |i: usize| self.kinds(args[i], constants);
        let fixnum = |i: usize| kinds(i).can_be(Kinds::FIXNUM);
        let float = |i: usize| kinds(i).can_be(Kinds::FLOAT);
        let number = |i: usize| kinds(i).can_be(Kinds::NUMBER);
        match p {
            P::Add | P::Sub | P::Mul => {
                let float_only = |i| float(i) && !fixnum(i);
                let fixnum_only = |i| fixnum(i) && !float(i);
                // Seen to be a number, but not which; or nothing is known of it, and a guess would hold for all rounds.
                let number_seen = |i| kinds(i).is(Kinds::NUMBER.or(Kinds::OTHER));
                let open = |i| self.repeats && self.operand(args[i], constants).param.is_some();
                let either = |i| float(i) && fixnum(i) && (number_seen(i) || open(i));
                if !number(0) || !number(1) {
                    Plan::Helper
                } else if float_only(0) || float_only(1) {
                    Plan::Floats
                } else if (fixnum_only(0) && !either(1)) || (fixnum_only(1) && !either(0)) {
                    Plan::Fixnums
                } else {
                    Plan::Numbers
                }
            }
            P::Neg | P::Abs => match (fixnum(0), float(0)) {
                (true, false) => Plan::Fixnums,
                (false, true) => Plan::Floats,
                _ => Plan::Helper,
            },
            P::Fdiv if number(0) && number(1) => Plan::Floats,
            P::Idiv | P::Irem | P::Band | P::Bor | P::Bxor if fixnum(0) && fixnum(1) => {
                Plan::Fixnums
            }
            P::Bnot if fixnum(0) => Plan::Fixnums,
            P::Bsr if fixnum(0) && shift(args[1], constants).is_some() => Plan::Fixnums,
            P::Max | P::Min if kinds(0) == Kinds::FIXNUM && kinds(1) == Kinds::FIXNUM => {
                Plan::Fixnums
            }
            _ if math_function(p).is_some() && (0..p.arity()).all(number) => Plan::Floats,
            P::Max | P::Min if kinds(0) == Kinds::FLOAT && kinds(1) == Kinds::FLOAT => Plan::Floats,
            P::Round | P::Trunc | P::Floor | P::Ceil if kinds(0) == Kinds::FLOAT => Plan::Whole,
            P::Random => Plan::Draw,
            P::Eq | P::Ne | P::Same | P::Differ | P::Lt | P::Le | P::Gt | P::Ge => Plan::Test,
            _ if Kinds::tested(p).is_some() => Plan::Test,
            P::Not | P::Hd | P::Tl | P::TupleSize => Plan::Take,
            P::Elem | P::PutElem if fixnum(1) => Plan::Take,
            P::BinInt if plain(args[2], constants).is_some() => Plan::Read,
            P::BinSlice | P::BinRest | P::BinTail | P::BinaryPart | P::BinaryAt => Plan::Read,
            P::ByteSize | P::BitSize | P::BinUtf8 | P::Utf8Bits => Plan::Read,
            P::MapHasKey if is_atom(args[1], constants) => Plan::AtomKey,
            _ => Plan::Helper,
        }
    }
}

/// Returns whether a primitive that is planned for integers takes floats as well.
pub(super) fn takes_floats(p: Primitive) -> bool {
    use Primitive as P;
    matches!(p, P::Add | P::Sub | P::Mul | P::Neg | P::Abs)
}

/// An integer in a binary that is read in line: of how many bytes, and whether the lowest is the first.
#[derive(Clone, Copy)]
pub(super) struct WholeBytes {
    pub(super) bytes: u32,
    pub(super) little: bool,
}

impl WholeBytes {
    pub(super) const ONE: WholeBytes = WholeBytes {
        bytes: 1,
        little: false,
    };
}

fn is_atom(key: Operand, constants: &[Value]) -> bool {
    matches!(key, Operand::Constant(k) if constants[k as usize].as_atom().is_some())
}

/// Reads a constant specification, if it is that of an integer without a sign of 1, 2 or 4 bytes (terms/prim/binaries.rs).
pub(super) fn plain(spec: Operand, constants: &[Value]) -> Option<WholeBytes> {
    let Operand::Constant(k) = spec else {
        return None;
    };
    let spec = constants[k as usize].as_fixnum()?;
    let bytes = match spec >> 2 {
        8 => 1,
        16 => 2,
        32 => 4,
        _ => return None,
    };
    let little = spec & 1 != 0;
    (spec & 2 == 0).then_some(WholeBytes { bytes, little })
}

/// The constant count of a shift, if it is one that the machine's shift can do.
pub(super) fn shift(count: Operand, constants: &[Value]) -> Option<i64> {
    let Operand::Constant(k) = count else {
        return None;
    };
    constants[k as usize]
        .as_fixnum()
        .filter(|n| (0..=62).contains(n))
}
