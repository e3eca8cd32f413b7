//! What Rust knows of each primitive, all of it from the table (table.rs).
use super::table::primitives;

/// The type of a primitive's answers, as far as it is always the same. An integer is of any size, a fixnum fits a word.
#[allow(missing_docs)] // They say it themselves.
#[derive(Clone, Copy)]
pub enum Answer {
    Any,
    Number,
    Integer,
    Fixnum,
    Float,
    Boolean,
    List,
    Tuple,
}

macro_rules! define {
    ($names:tt $(
        $number:literal $variant:ident $name:ident($($argument:ident),*) $has:ident $answer:ident $effort:ident $elixir:literal
            => $computed:expr;
    )*) => {
        /// A total function over values; the numbers are those of the wire format.
        ///
        /// "No answer" is `:undefined` in [`Instr::Op`] and a jump in [`Instr::GuardOp`].
        ///
        /// [`Instr::Op`]: crate::code::ir::Instr::Op
        /// [`Instr::GuardOp`]: crate::code::ir::Instr::GuardOp
        #[repr(u8)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Primitive {
            $(
                #[doc = concat!("`", stringify!($name($($argument),*)), "`")]
                $variant = $number,
            )*
        }

        impl Primitive {
            /// Every primitive, the machine's own included, in the order of the numbers.
            const EVERY: &'static [Primitive] = &[$(Primitive::$variant),*];

            /// Returns the number of its arguments.
            pub const fn arity(self) -> usize {
                match self {
                    $(Primitive::$variant => <[&str]>::len(&[$(stringify!($argument)),*]),)*
                }
            }

            /// The name that the IR's documentation uses.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Primitive::$variant => stringify!($name),)*
                }
            }

            /// The primitive with this number, if there is one.
            pub const fn from_number(number: u64) -> Option<Primitive> {
                match number {
                    $($number => Some(Primitive::$variant),)*
                    _ => None,
                }
            }

            /// Returns what its answers are.
            pub const fn answer(self) -> Answer {
                match self {
                    $(Primitive::$variant => Answer::$answer,)*
                }
            }

            /// Returns whether it has an answer for all arguments.
            pub fn always_answers(self) -> bool {
                match self {
                    $(Primitive::$variant => stringify!($has) == "always",)*
                }
            }

            /// Returns whether equal arguments always give equal answers.
            pub fn is_pure(self) -> bool {
                match self {
                    $(Primitive::$variant => stringify!($effort) != "impure",)*
                }
            }
        }
    };
}

primitives!(define);

/// The least number of a primitive that is the machine's own.
const OWN: u8 = 200;

impl Primitive {
    /// Every primitive that a unit may have, in the order of the numbers.
    pub const ALL: &'static [Primitive] = {
        let mut others = Primitive::EVERY.len();
        while Primitive::EVERY[others - 1].is_own() {
            others -= 1;
        }
        Primitive::EVERY.split_at(others).0
    };

    /// Returns whether it is the machine's own, and in no unit that it takes.
    pub const fn is_own(self) -> bool {
        self.number() >= OWN
    }

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_and_gaps_are_none() {
        let found: Vec<_> = (0..300).filter_map(Primitive::from_number).collect();
        assert_eq!(found, Primitive::EVERY);
        assert!(Primitive::ALL.iter().all(|primitive| !primitive.is_own()));
        assert_eq!(found.len() - Primitive::ALL.len(), 3);
        for primitive in found {
            let number = u64::from(primitive.number());
            assert_eq!(Primitive::from_number(number), Some(primitive));
        }
        assert_eq!(Primitive::from_number(u64::MAX), None);
    }

    #[test]
    fn rows_are_read() {
        assert_eq!(Primitive::PutElem.name(), "put_elem");
        assert_eq!(Primitive::PutElem.arity(), 3);
        assert_eq!(Primitive::Now.arity(), 0);
        assert!(Primitive::Now.always_answers() && !Primitive::RandomInt.always_answers());
        assert!(!Primitive::RandomInt.is_pure() && Primitive::On.is_pure());
    }
}
