//! The primitives, a row for each: Rust's types and [`apply`](super::apply) are made of it, and so is what the compiler in
//! Elixir knows of them (lib/mote/behaviour/primitives.ex, which reads this file). What they mean is in guides/ir.md, whose
//! table a test compares.

/// The table, for the macro that is named. Its head names what a row may use besides its arguments; then each row has
///
/// * the number in the IR, the variant, the name and the arguments;
/// * `always`, or `partial`, if for some arguments there is no answer;
/// * what the answer is, as far as it is always the same (see [`Answer`](super::primitive::Answer));
/// * `free`, if it takes no more than a moment; else what it spends fuel for: it `walks` over its arguments, `compares` them,
///   `finds` a key, or `calculates` with integers that may be long. `impure`, if equal arguments may have different answers;
/// * how Elixir spells it, the usual way first: a function of Kernel or Bitwise, or `Module.name`;
/// * what computes it.
macro_rules! primitives {
    ($then:ident) => {
        $then! {
            (heap, draws, clock)

            0   Add  add(a, b)  partial Number  calculates "+"   => arith::add(heap, a, b);
            1   Sub  sub(a, b)  partial Number  calculates "-"   => arith::sub(heap, a, b);
            2   Mul  mul(a, b)  partial Number  calculates "*"   => arith::mul(heap, a, b);
            3   Fdiv fdiv(a, b) partial Float   free       "/"   => arith::fdiv(heap, a, b);
            4   Idiv idiv(a, b) partial Integer calculates "div" => arith::idiv(heap, a, b);
            5   Irem irem(a, b) partial Integer calculates "rem" => arith::irem(heap, a, b);
            6   Neg  neg(a)     partial Number  calculates "-"   => arith::neg(heap, a);
            7   Abs  abs(a)     partial Number  calculates "abs" => arith::abs(heap, a);

            8   Band band(a, b) partial Integer calculates "band &&& Bitwise.band Bitwise.&&&" => bits::band(heap, a, b);
            9   Bor  bor(a, b)  partial Integer calculates "bor ||| Bitwise.bor Bitwise.|||"   => bits::bor(heap, a, b);
            10  Bxor bxor(a, b) partial Integer calculates "bxor ^^^ Bitwise.bxor Bitwise.^^^" => bits::bxor(heap, a, b);
            11  Bnot bnot(a)    partial Integer calculates "bnot ~~~ Bitwise.bnot Bitwise.~~~" => bits::bnot(heap, a);
            12  Bsl  bsl(a, b)  partial Integer calculates "bsl <<< Bitwise.bsl Bitwise.<<<"   => bits::bsl(heap, a, b);
            13  Bsr  bsr(a, b)  partial Integer calculates "bsr >>> Bitwise.bsr Bitwise.>>>"   => bits::bsr(heap, a, b);

            14  Eq     eq(a, b)     always  Boolean compares   "=="  => Value::boolean(compare::equal(a, b, &mut heap.work));
            15  Ne     ne(a, b)     always  Boolean compares   "!="  => Value::boolean(!compare::equal(a, b, &mut heap.work));
            16  Same   same(a, b)   always  Boolean compares   "===" => Value::boolean(compare::same(a, b, &mut heap.work));
            17  Differ differ(a, b) always  Boolean compares   "!==" => Value::boolean(!compare::same(a, b, &mut heap.work));
            18  Lt     lt(a, b)     always  Boolean compares   "<"   => Value::boolean(compare::less(a, b, &mut heap.work));
            19  Le     le(a, b)     always  Boolean compares   "<="  => Value::boolean(!compare::less(b, a, &mut heap.work));
            20  Gt     gt(a, b)     always  Boolean compares   ">"   => Value::boolean(compare::less(b, a, &mut heap.work));
            21  Ge     ge(a, b)     always  Boolean compares   ">="  => Value::boolean(!compare::less(a, b, &mut heap.work));
            22  Not    not(a)       partial Boolean free       "not" => types::not(a);

            23  IsInteger   is_integer(a)   always  Boolean free       "is_integer"   => Value::boolean(types::is_integer(a));
            24  IsFloat     is_float(a)     always  Boolean free       "is_float"     => Value::boolean(types::is_float(a));
            25  IsNumber    is_number(a)    always  Boolean free       "is_number"    => Value::boolean(types::is_number(a));
            26  IsAtom      is_atom(a)      always  Boolean free       "is_atom"      => Value::boolean(types::is_atom(a));
            27  IsBoolean   is_boolean(a)   always  Boolean free       "is_boolean"   => Value::boolean(types::is_boolean(a));
            28  IsTuple     is_tuple(a)     always  Boolean free       "is_tuple"     => Value::boolean(types::is_tuple(a));
            29  IsList      is_list(a)      always  Boolean free       "is_list"      => Value::boolean(types::is_list(a));
            30  IsBinary    is_binary(a)    always  Boolean free       "is_binary"    => Value::boolean(types::is_binary(a));
            31  IsBitstring is_bitstring(a) always  Boolean free       "is_bitstring" => Value::boolean(types::is_bitstring(a));
            32  IsMap       is_map(a)       always  Boolean free       "is_map"       => Value::boolean(types::is_map(a));
            33  IsFunction  is_function(a)  always  Boolean free       "is_function"  => Value::boolean(types::is_function(a));
            34  IsReference is_reference(a) always  Boolean free       "is_reference" => Value::boolean(types::is_reference(a));
            35  IsPid       is_pid(a)       always  Boolean free       "is_pid"       => Value::boolean(types::is_pid(a));
            36  IsAddress   is_address(a)   always  Boolean free       "is_address"   => Value::boolean(types::is_address(a));

            37  Hd          hd(a)             partial Any     free       "hd"            => lists::hd(a);
            38  Tl          tl(a)             partial Any     free       "tl"            => lists::tl(a);
            39  Length      length(a)         partial Fixnum  walks      "length"        => lists::length(heap, a);
            40  TupleSize   tuple_size(a)     partial Fixnum  free       "tuple_size"    => tuples::tuple_size(a);
            41  Elem        elem(a, b)        partial Any     free       "elem"          => tuples::elem(a, b);
            42  PutElem     put_elem(a, b, c) partial Tuple   walks      "put_elem"      => tuples::put_elem(heap, a, b, c);
            43  Append      append(a, b)      partial Any     walks      "++"            => lists::append(heap, a, b);
            // Spelled `Enum.reverse(x)`, which takes maps as well.
            44  Reverse     reverse(a)        partial List    walks      ""              => lists::reverse(heap, a);
            45  Max         max(a, b)         always  Any     compares   "max"           => compare::max(a, b, &mut heap.work);
            46  Min         min(a, b)         always  Any     compares   "min"           => compare::min(a, b, &mut heap.work);
            47  Round       round(a)          partial Integer free       "round"         => arith::round(heap, a);
            48  Trunc       trunc(a)          partial Integer free       "trunc"         => arith::trunc(heap, a);
            49  Floor       floor(a)          partial Integer free       "floor"         => arith::floor(heap, a);
            50  Ceil        ceil(a)           partial Integer free       "ceil"          => arith::ceil(heap, a);
            // Spelled `x in list` and `Enum.member?(list, x)`; the syntax pass brings the value to the front.
            51  Member      member(a, b)      partial Boolean walks      ""              => enumerable::member(heap, a, b);
            52  Subtract    subtract(a, b)    partial List    walks      "--"            => subtract::subtract(heap, a, b);
            53  TupleToList tuple_to_list(a)  partial List    walks      "Tuple.to_list" => tuples::tuple_to_list(heap, a);
            54  ListToTuple list_to_tuple(a)  partial Tuple   walks      "List.to_tuple" => tuples::list_to_tuple(heap, a);
            55  ByteSize    byte_size(a)      partial Fixnum  free       "byte_size"     => types::byte_size(a);

            56  Add64 add64(a, b) partial Integer free       "Mote.Integer.add64" => integers::wrapped(heap, a, b, u64::wrapping_add);
            57  Sub64 sub64(a, b) partial Integer free       "Mote.Integer.sub64" => integers::wrapped(heap, a, b, u64::wrapping_sub);
            58  Mul64 mul64(a, b) partial Integer free       "Mote.Integer.mul64" => integers::wrapped(heap, a, b, u64::wrapping_mul);

            60  Sqrt  sqrt(a)     partial Float   free       ":math.sqrt"  => math::sqrt(heap, a);
            61  Exp   exp(a)      partial Float   free       ":math.exp"   => math::exp(heap, a);
            62  Log   log(a)      partial Float   free       ":math.log"   => math::log(heap, a);
            63  Log2  log2(a)     partial Float   free       ":math.log2"  => math::log2(heap, a);
            64  Log10 log10(a)    partial Float   free       ":math.log10" => math::log10(heap, a);
            65  Sin   sin(a)      partial Float   free       ":math.sin"   => math::sin(heap, a);
            66  Cos   cos(a)      partial Float   free       ":math.cos"   => math::cos(heap, a);
            67  Tan   tan(a)      partial Float   free       ":math.tan"   => math::tan(heap, a);
            68  Asin  asin(a)     partial Float   free       ":math.asin"  => math::asin(heap, a);
            69  Acos  acos(a)     partial Float   free       ":math.acos"  => math::acos(heap, a);
            70  Atan  atan(a)     partial Float   free       ":math.atan"  => math::atan(heap, a);
            71  Sinh  sinh(a)     partial Float   free       ":math.sinh"  => math::sinh(heap, a);
            72  Cosh  cosh(a)     partial Float   free       ":math.cosh"  => math::cosh(heap, a);
            73  Tanh  tanh(a)     partial Float   free       ":math.tanh"  => math::tanh(heap, a);
            74  Erf   erf(a)      partial Float   free       ":math.erf"   => math::erf(heap, a);
            75  Erfc  erfc(a)     partial Float   free       ":math.erfc"  => math::erfc(heap, a);
            76  Pow   pow(a, b)   partial Float   free       ":math.pow"   => math::pow(heap, a, b);
            77  Atan2 atan2(a, b) partial Float   free       ":math.atan2" => math::atan2(heap, a, b);
            78  Fmod  fmod(a, b)  partial Float   free       ":math.fmod"  => math::fmod(heap, a, b);

            80  Random    random()      always  Float   impure     ":rand.uniform" => random::uniform(heap, draws);
            81  RandomInt random_int(a) partial Fixnum  impure     ":rand.uniform" => random::random_int(draws, a);
            // Nanoseconds; spelled `System.monotonic_time(unit)`.
            82  Now       now()         always  Fixnum  impure     ""              => Value::fixnum(clock.nanoseconds());

            90  On on(a, b) partial Any     free       "on" => types::on(heap, a, b);

            // Of a tuple {k1, v1, …}: spelled `%{k1 => v1, …}`.
            100 MapOf     map_of(a)           partial Any     walks      ""               => maps::map_of(heap, a);
            101 MapGet    map_get(a, b, c)    partial Any     finds      "Map.get"        => maps::map_get(&mut heap.work, a, b, c);
            // Also spelled `map.key`.
            102 MapFetch  map_fetch(a, b)     partial Any     finds      "Map.fetch!"     => maps::map_fetch(&mut heap.work, a, b);
            103 MapPut    map_put(a, b, c)    partial Any     finds      "Map.put"        => maps::map_put(heap, a, b, c);
            // Spelled `%{map | key => value}`.
            104 MapUpdate map_update(a, b, c) partial Any     finds      ""               => maps::map_update(heap, a, b, c);
            105 MapDelete map_delete(a, b)    partial Any     finds      "Map.delete"     => maps::map_delete(heap, a, b);
            // `is_map_key(map, key)` has its arguments the other way round once it is expanded.
            106 MapHasKey map_has_key(a, b)   partial Boolean finds      "Map.has_key?"   => maps::map_has_key(&mut heap.work, a, b);
            107 MapSize   map_size(a)         partial Fixnum  free       "map_size"       => maps::map_size(a);
            108 MapKeys   map_keys(a)         partial List    walks      "Map.keys"       => maps::map_keys(heap, a);
            109 MapValues map_values(a)       partial List    walks      "Map.values"     => maps::map_values(heap, a);
            110 MapNew    map_new(a)          partial Any     walks      "Map.new"        => enumerable::map_new(heap, a);
            111 MapMerge  map_merge(a, b)     partial Any     walks      "Map.merge"      => maps::map_merge(heap, a, b);
            112 ToList    to_list(a)          partial Any     walks      "Map.to_list"    => maps::to_list(heap, a);
            // What loops and functions of Enum go through.
            113 Elements  elements(a)         partial Any     walks      "Enum.to_list"   => enumerable::elements(heap, a);
            // `Enum.sort/1`, `Enum.sort_by/2` and the like are made of these.
            114 Sort      sort(a)             partial List    walks      ":lists.sort"    => sorted_lists::sort(heap, a);
            115 Keysort   keysort(a, b)       partial List    walks      ":lists.keysort" => sorted_lists::keysort(heap, a, b);

            // The list of bytes, or of the characters in UTF-8; and what parts are between others.
            116 BinaryList  binary_list(a, b)  partial List walks "Mote.Total.binary_list"  => characters::binary_list(heap, a, b);
            117 BinarySplit binary_split(a, b) partial List walks "Mote.Total.binary_split" => split::binary_split(heap, a, b);

            // What patterns of bits that may be no whole bytes are made of, besides the five below.
            118 BinBits    bin_bits(a, b, c)    partial Any     walks      ""                         => binaries::bin_bits(heap, a, b, c);
            119 BinTail    bin_tail(a, b)       partial Any     walks      ""                         => binaries::bin_tail(heap, a, b);
            // Of a tuple of values and one of specifications: spelled `<<…>>` and `<>`.
            120 BinOf      bin_of(a, b)         partial Any     walks      ""                         => build::bin_of(heap, a, b);
            // The next five are what binary patterns are made of.
            121 BinInt     bin_int(a, b, c)     partial Integer free       ""                         => binaries::bin_int(heap, a, b, c);
            122 BinFloat   bin_float(a, b, c)   partial Float   free       ""                         => binaries::bin_float(heap, a, b, c);
            123 BinSlice   bin_slice(a, b, c)   partial Any     walks      ""                         => binaries::bin_slice(heap, a, b, c);
            124 BinRest    bin_rest(a, b)       partial Any     free       ""                         => binaries::bin_rest(heap, a, b);
            125 BinUtf8    bin_utf8(a, b)       partial Fixnum  free       ""                         => binaries::bin_utf8(a, b);
            126 Utf8Bits   utf8_bits(a)         partial Fixnum  free       ""                         => binaries::utf8_bits(a);
            127 BitSize    bit_size(a)          partial Fixnum  free       "bit_size"                 => binaries::bit_size(a);
            128 BinaryPart binary_part(a, b, c) partial Any     free       "binary_part :binary.part" => binaries::binary_part(heap, a, b, c);
            129 BinaryAt   binary_at(a, b)      partial Fixnum  free       ":binary.at"               => binaries::binary_at(a, b);
            // Also spelled by interpolation.
            130 ToString   to_string(a)         partial Any     calculates "to_string"                => text::to_string(heap, a);
            131 ToFloat    to_float(a)          partial Float   walks      "String.to_float"          => text::to_float(heap, a);
            // What String and Enum search texts with, and put them together with.
            132 BinaryFind binary_find(a, b, c) partial Any     walks      "Mote.Total.binary_find"   => search::binary_find(&mut heap.work, a, b, c);
            133 BinaryJoin binary_join(a, b)    partial Any     walks      "Mote.Total.binary_join"   => build::binary_join(heap, a, b);
            // What String does at once: where characters are plain ones, letters are well known, or parts are between others.
            134 TextRun     text_run(a, b, c)  partial Tuple walks "Mote.Total.text_run"     => characters::text_run(heap, a, b, c);
            135 TextChanged text_changed(a, b) partial Any   walks "Mote.Total.text_changed" => characters::text_changed(heap, a, b);
            // What `inspect` shows of what is only carried.
            136 CarriedText carried_text(a) partial Any free "Mote.Total.carried_text" => text::carried_text(heap, a);

            // What `Regex` is made of: a pattern is `{source, options}`.
            137 RegexRun   regex_run(a, b, c) partial Any walks "Mote.Total.regex_run"   => regexes::regex_run(heap, a, b, c);
            138 RegexNames regex_names(a)     partial Any walks "Mote.Total.regex_names" => regexes::regex_names(heap, a);

            140 VecNew        vec_new(a, b)         partial Any     walks      "Mote.Vector.new"              => vectors::vec_new(heap, a, b);
            141 VecFromBinary vec_from_binary(a, b) partial Any     walks      "Mote.Vector.from_binary"      => vectors::vec_from_binary(heap, a, b);
            142 VecToList     vec_to_list(a)        partial List    walks      "Mote.Vector.to_list"          => vectors::vec_to_list(heap, a);
            143 VecToBinary   vec_to_binary(a)      partial Any     free       "Mote.Vector.to_binary"        => vectors::vec_to_binary(a);
            144 VecSize       vec_size(a)           partial Fixnum  free       "Mote.Vector.size"             => vectors::vec_size(a);
            145 VecGet        vec_get(a, b)         partial Number  free       "Mote.Vector.get"              => vectors::vec_get(heap, a, b);
            146 VecSlice      vec_slice(a, b, c)    partial Any     free       "Mote.Vector.slice"            => vectors::vec_slice(heap, a, b, c);
            147 VecConcat     vec_concat(a, b)      partial Any     walks      "Mote.Vector.concat"           => vectors::vec_concat(heap, a, b);
            // Its first operand says which one; spelled `Mote.Vector.add(a, b)` and so on.
            148 VecMap2       vec_map2(a, b, c)     partial Any     walks      ""                             => vectors::vec_map2(heap, a, b, c);
            149 VecDot        vec_dot(a, b)         partial Number  walks      "Mote.Vector.dot"              => vectors::vec_dot(heap, a, b);
            150 VecDistance   vec_distance(a, b)    partial Number  walks      "Mote.Vector.squared_distance" => vectors::vec_distance(heap, a, b);
            151 VecSum        vec_sum(a)            partial Number  walks      "Mote.Vector.sum"              => vectors::vec_sum(heap, a);
            152 VecMin        vec_min(a)            partial Number  walks      "Mote.Vector.min"              => vectors::vec_min(heap, a);
            153 VecMax        vec_max(a)            partial Number  walks      "Mote.Vector.max"              => vectors::vec_max(heap, a);
            154 VecArgmin     vec_argmin(a)         partial Fixnum  walks      "Mote.Vector.argmin"           => vectors::vec_argmin(heap, a);
            155 VecArgmax     vec_argmax(a)         partial Fixnum  walks      "Mote.Vector.argmax"           => vectors::vec_argmax(heap, a);
            156 VecSort       vec_sort(a)           partial Any     walks      "Mote.Vector.sort"             => vectors::vec_sort(heap, a);

            // Spelled `is_function(x, n)`; and what the body of a function that is a value begins with.
            160 IsFunctionOf is_function_of(a, b) partial Boolean free "is_function" => types::is_function_of(a, b);
            161 Captured     captured(a, b)       partial Any     free ""            => types::captured(a, b);

            // From here on they are the machine's own, and in no unit that it takes: what others become where a vector is not read
            // again (code/temporaries.rs). The result in the place of the first vector, or of the second.
            200 VecMap2Left  vec_map2_left(a, b, c)  partial Any walks "" => vectors::vec_map2_left(heap, a, b, c);
            201 VecMap2Right vec_map2_right(a, b, c) partial Any walks "" => vectors::vec_map2_right(heap, a, b, c);
            202 VecDrop      vec_drop(a)             always  Any free  "" => vectors::vec_drop(heap, a);
        }
    };
}
pub(super) use primitives;
