//! The numbering of the primitives: which there are, how they are called and how many arguments they take.
//!
//! What they compute is not here.

/// Expands the one table below into the enum and its look-ups, so that a number is written down once.
macro_rules! primitives {
    ($($variant:ident = $number:literal, $name:literal, $arity:literal;)*) => {
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
                #[doc = concat!("`", $name, "`, arity ", stringify!($arity), ".")]
                $variant = $number,
            )*
        }

        impl Primitive {
            /// Every primitive, in the order of the numbers.
            pub const ALL: &'static [Primitive] = &[$(Primitive::$variant),*];

            /// Returns the number of its arguments.
            pub const fn arity(self) -> usize {
                match self {
                    $(Primitive::$variant => $arity,)*
                }
            }

            /// The name that the IR's documentation uses.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Primitive::$variant => $name,)*
                }
            }

            /// The primitive with this number, if there is one.
            pub const fn from_number(number: u64) -> Option<Primitive> {
                match number {
                    $($number => Some(Primitive::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

primitives! {
    Add = 0, "add", 2;
    Sub = 1, "sub", 2;
    Mul = 2, "mul", 2;
    Fdiv = 3, "fdiv", 2;
    Idiv = 4, "idiv", 2;
    Irem = 5, "irem", 2;
    Neg = 6, "neg", 1;
    Abs = 7, "abs", 1;
    Band = 8, "band", 2;
    Bor = 9, "bor", 2;
    Bxor = 10, "bxor", 2;
    Bnot = 11, "bnot", 1;
    Bsl = 12, "bsl", 2;
    Bsr = 13, "bsr", 2;
    Eq = 14, "eq", 2;
    Ne = 15, "ne", 2;
    Same = 16, "same", 2;
    Differ = 17, "differ", 2;
    Lt = 18, "lt", 2;
    Le = 19, "le", 2;
    Gt = 20, "gt", 2;
    Ge = 21, "ge", 2;
    Not = 22, "not", 1;
    IsInteger = 23, "is_integer", 1;
    IsFloat = 24, "is_float", 1;
    IsNumber = 25, "is_number", 1;
    IsAtom = 26, "is_atom", 1;
    IsBoolean = 27, "is_boolean", 1;
    IsTuple = 28, "is_tuple", 1;
    IsList = 29, "is_list", 1;
    IsBinary = 30, "is_binary", 1;
    IsBitstring = 31, "is_bitstring", 1;
    IsMap = 32, "is_map", 1;
    IsFunction = 33, "is_function", 1;
    IsReference = 34, "is_reference", 1;
    IsPid = 35, "is_pid", 1;
    IsAddress = 36, "is_address", 1;
    Hd = 37, "hd", 1;
    Tl = 38, "tl", 1;
    Length = 39, "length", 1;
    TupleSize = 40, "tuple_size", 1;
    Elem = 41, "elem", 2;
    PutElem = 42, "put_elem", 3;
    Append = 43, "append", 2;
    Reverse = 44, "reverse", 1;
    Max = 45, "max", 2;
    Min = 46, "min", 2;
    Round = 47, "round", 1;
    Trunc = 48, "trunc", 1;
    Floor = 49, "floor", 1;
    Ceil = 50, "ceil", 1;
    Member = 51, "member", 2;
    Subtract = 52, "subtract", 2;
    TupleToList = 53, "tuple_to_list", 1;
    ListToTuple = 54, "list_to_tuple", 1;
    ByteSize = 55, "byte_size", 1;
    Add64 = 56, "add64", 2;
    Sub64 = 57, "sub64", 2;
    Mul64 = 58, "mul64", 2;
    Sqrt = 60, "sqrt", 1;
    Exp = 61, "exp", 1;
    Log = 62, "log", 1;
    Log2 = 63, "log2", 1;
    Log10 = 64, "log10", 1;
    Sin = 65, "sin", 1;
    Cos = 66, "cos", 1;
    Tan = 67, "tan", 1;
    Asin = 68, "asin", 1;
    Acos = 69, "acos", 1;
    Atan = 70, "atan", 1;
    Sinh = 71, "sinh", 1;
    Cosh = 72, "cosh", 1;
    Tanh = 73, "tanh", 1;
    Erf = 74, "erf", 1;
    Erfc = 75, "erfc", 1;
    Pow = 76, "pow", 2;
    Atan2 = 77, "atan2", 2;
    Random = 80, "random", 0;
    RandomInt = 81, "random_int", 1;
    Now = 82, "now", 0;
    On = 90, "on", 2;
    MapOf = 100, "map_of", 1;
    MapGet = 101, "map_get", 3;
    MapFetch = 102, "map_fetch", 2;
    MapPut = 103, "map_put", 3;
    MapUpdate = 104, "map_update", 3;
    MapDelete = 105, "map_delete", 2;
    MapHasKey = 106, "map_has_key", 2;
    MapSize = 107, "map_size", 1;
    MapKeys = 108, "map_keys", 1;
    MapValues = 109, "map_values", 1;
    MapNew = 110, "map_new", 1;
    MapMerge = 111, "map_merge", 2;
    ToList = 112, "to_list", 1;
    Elements = 113, "elements", 1;
    Sort = 114, "sort", 1;
    Keysort = 115, "keysort", 2;
    BinOf = 120, "bin_of", 2;
    BinInt = 121, "bin_int", 3;
    BinFloat = 122, "bin_float", 3;
    BinSlice = 123, "bin_slice", 3;
    BinRest = 124, "bin_rest", 2;
    BinUtf8 = 125, "bin_utf8", 2;
    Utf8Bits = 126, "utf8_bits", 1;
    BitSize = 127, "bit_size", 1;
    BinaryPart = 128, "binary_part", 3;
    BinaryAt = 129, "binary_at", 2;
    ToString = 130, "to_string", 1;
    ToFloat = 131, "to_float", 1;
    BinaryFind = 132, "binary_find", 3;
    BinaryJoin = 133, "binary_join", 2;
    VecNew = 140, "vec_new", 2;
    VecFromBinary = 141, "vec_from_binary", 2;
    VecToList = 142, "vec_to_list", 1;
    VecToBinary = 143, "vec_to_binary", 1;
    VecSize = 144, "vec_size", 1;
    VecGet = 145, "vec_get", 2;
    VecSlice = 146, "vec_slice", 3;
    VecConcat = 147, "vec_concat", 2;
    VecMap2 = 148, "vec_map2", 3;
    VecDot = 149, "vec_dot", 2;
    VecDistance = 150, "vec_distance", 2;
    VecSum = 151, "vec_sum", 1;
    VecMin = 152, "vec_min", 1;
    VecMax = 153, "vec_max", 1;
    VecArgmin = 154, "vec_argmin", 1;
    VecArgmax = 155, "vec_argmax", 1;
    VecSort = 156, "vec_sort", 1;
}

impl Primitive {
    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns whether equal arguments always give equal answers. Only the random ones and the time do not.
    pub const fn is_pure(self) -> bool {
        !matches!(
            self,
            Primitive::Random | Primitive::RandomInt | Primitive::Now
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_and_gaps_are_none() {
        for number in 0..300u64 {
            match Primitive::from_number(number) {
                Some(primitive) => assert_eq!(u64::from(primitive.number()), number),
                None => assert!(
                    !(0..=58).contains(&number)
                        && !(60..=77).contains(&number)
                        && !matches!(number, 80..=82 | 90 | 100..=115 | 120..=133 | 140..=156)
                ),
            }
        }
        assert_eq!(Primitive::from_number(u64::MAX), None);
        assert_eq!(Primitive::ALL.len(), 59 + 18 + 4 + 16 + 14 + 17);
    }

    #[test]
    fn the_ends_of_the_documented_ranges() {
        let named = [
            (23, "is_integer"),
            (35, "is_pid"),
            (47, "round"),
            (50, "ceil"),
            (60, "sqrt"),
            (75, "erfc"),
            (77, "atan2"),
            (90, "on"),
        ];
        for (number, name) in named {
            assert_eq!(
                Primitive::from_number(number).map(Primitive::name),
                Some(name)
            );
        }
        assert_eq!(Primitive::PutElem.arity(), 3);
        assert_eq!(Primitive::Random.arity(), 0);
        assert!(!Primitive::RandomInt.is_pure() && Primitive::On.is_pure());
        assert!(!Primitive::Now.is_pure() && Primitive::Now.arity() == 0);
    }
}
