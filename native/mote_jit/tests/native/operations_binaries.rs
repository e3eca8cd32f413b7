//! Reading binaries, which native code does in line, against the interpreter: at every kind of position, in
//! binaries of every kind, with what is usual and what is not.

use crate::build::{guard, is, k, mov, op, r, send, Build};
use crate::encode::encode;
use crate::hearing::heard_each;
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use Primitive as P;

/// Registers: who listens, the binary, the operands, the result.
const BINARY: u16 = 1;
const OPERANDS: [u16; 2] = [2, 3];
const RESULT: u16 = 4;

/// An integer that is not a fixnum.
fn beyond() -> Constant {
    Constant::Big {
        negative: false,
        bytes: vec![1; 9],
    }
}

/// A turn in the making, and what each of its messages is about.
struct Turn {
    build: Build,
    code: Vec<Instr>,
    labels: Vec<String>,
}

impl Turn {
    fn new() -> Turn {
        Turn {
            build: Build::new(),
            code: Vec::new(),
            labels: Vec::new(),
        }
    }

    fn integer(&mut self, n: i64) -> Operand {
        k(self.build.constant(Constant::Integer(n)))
    }

    /// A text of that many bytes.
    fn text(&mut self, size: usize) -> Operand {
        let bytes = (0..size).map(|i| b'!' + (i % 90) as u8).collect();
        k(self.build.constant(Constant::Binary(bytes)))
    }

    fn op(&mut self, dst: u16, primitive: P, args: Vec<Operand>) {
        self.code.push(op(dst, primitive, args));
    }

    fn tell(&mut self, label: String) {
        self.code.push(send(r(0), r(RESULT)));
        self.labels.push(label);
    }

    /// The primitive on the binary and the operands: as constants and in registers, with and without a place to go to.
    fn read(&mut self, label: &str, p: P, operands: &[Operand]) {
        let registers: Vec<Operand> = OPERANDS[..operands.len()].iter().map(|d| r(*d)).collect();
        for (to, from) in OPERANDS.iter().zip(operands) {
            self.code.push(mov(*to, *from));
        }
        // What a register is known to hold is not looked at; a specification is always a constant.
        let mixed = match (p, operands) {
            (P::BinInt, [_, spec]) => vec![registers[0], *spec],
            _ => registers,
        };
        for (form, operands) in [("constants", operands.to_vec()), ("registers", mixed)] {
            let args: Vec<Operand> = [r(BINARY)].into_iter().chain(operands).collect();
            self.op(RESULT, p, args.clone());
            self.tell(format!("{label}, {form}"));
            self.code.push(mov(RESULT, k(1)));
            let next = self.code.len() as u32 + 1;
            self.code.push(guard(RESULT, p, args, next));
            self.tell(format!("{label}, {form}, in a guard"));
        }
    }

    /// Reads everything about the binary in its register, which has about that many bytes.
    fn read_all(&mut self, name: &str, size: i64) {
        let bytes = [1, size - 26, size - 25, size - 4, size - 1, size + 1];
        let mut positions: Vec<i64> = bytes.iter().map(|n| n * 8).collect();
        positions.extend([1, 12, -8, FIXNUM_MIN, FIXNUM_MAX & !7]);
        self.read_at(name, size, &positions);
    }

    /// Reads everything at these positions, and at an operand that is not a position.
    fn read_at(&mut self, name: &str, size: i64, positions: &[i64]) {
        let mut at: Vec<(String, Operand)> = Vec::new();
        for position in [0, size * 8].iter().chain(positions) {
            at.push((position.to_string(), self.integer(*position)));
        }
        at.push(("[]".to_owned(), k(1)));
        for (position, operand) in at {
            for (bits, flags) in [
                (8, 0),
                (16, 0),
                (16, 1),
                (32, 0),
                (32, 1),
                (32, 2),
                (24, 0),
                (64, 0),
            ] {
                let spec = self.integer(bits * 4 + flags);
                let label = format!("{bits} bits ({flags}) at {position} of {name}");
                self.read(&label, P::BinInt, &[operand, spec]);
            }
            for count in [0, 24, 25, size - 1, size, size + 1, -1, FIXNUM_MAX] {
                let count_of = self.integer(count);
                let label = format!("{count} bytes at {position} of {name}");
                self.read(&label, P::BinSlice, &[operand, count_of]);
            }
            self.read(
                &format!("[] bytes at {position} of {name}"),
                P::BinSlice,
                &[operand, k(1)],
            );
            for (rest, p) in [("rest", P::BinRest), ("tail", P::BinTail)] {
                let label = format!("the {rest} at {position} of {name}");
                self.read(&label, p, &[operand]);
            }
            for count in [0, 3, 17] {
                let count_of = self.integer(count);
                let label = format!("{count} bits at {position} of {name}");
                self.read(&label, P::BinBits, &[operand, count_of]);
            }
        }
    }

    /// Reads with operations that take places in bytes, or none: bytes, parts, sizes, and whether a binary is empty.
    fn read_bytes(&mut self, name: &str, size: i64) {
        let places = [
            0,
            1,
            size - 1,
            size,
            size + 1,
            -1,
            1 << 40,
            FIXNUM_MIN,
            FIXNUM_MAX,
        ];
        let mut odd = vec![("[]".to_owned(), k(1))];
        for constant in [Constant::Float(1.0), beyond()] {
            odd.push((format!("{constant:?}"), k(self.build.constant(constant))));
        }
        let mut at = odd.clone();
        for place in places {
            at.push((place.to_string(), self.integer(place)));
        }
        for (place, operand) in &at {
            self.read(
                &format!("the byte {place} of {name}"),
                P::BinaryAt,
                &[*operand],
            );
            self.read(
                &format!("a character at {place} of {name}"),
                P::BinUtf8,
                &[*operand],
            );
        }
        for from in [0, 1, 9, size - 25, size - 8, size] {
            for count in [
                0,
                1,
                7,
                8,
                9,
                15,
                16,
                17,
                23,
                24,
                25,
                size - 1,
                size,
                -1,
                -8,
            ] {
                let operands = [self.integer(from), self.integer(count)];
                let label = format!("{count} bytes from {from} of {name}");
                self.read(&label, P::BinaryPart, &operands);
            }
            for (count, operand) in &odd {
                let label = format!("{count} bytes from {from} of {name}");
                let from = self.integer(from);
                self.read(&label, P::BinaryPart, &[from, *operand]);
            }
        }
        self.read(&format!("the bytes of {name}"), P::ByteSize, &[]);
        self.read(&format!("the bits of {name}"), P::BitSize, &[]);
        self.match_empty(name);
    }

    fn match_empty(&mut self, name: &str) {
        let empty = self.build.constant(Constant::Binary(Vec::new()));
        self.code.push(mov(RESULT, k(1)));
        self.code
            .push(is(r(BINARY), k(empty), self.code.len() as u32 + 2));
        self.code.push(mov(RESULT, r(BINARY)));
        self.tell(format!("whether {name} is empty"));
    }

    fn judge(mut self) {
        self.code.push(Instr::Done);
        let unit = encode(&self.build.behaviour("all", 0, self.code).0);
        heard_each(&unit, &self.labels);
    }
}

#[test]
fn slices() {
    for size in [25, 51] {
        let mut turn = Turn::new();
        let whole = turn.text(300);
        let (from, count) = (turn.integer(56), turn.integer(size));
        turn.op(BINARY, P::BinSlice, vec![whole, from, count]);
        turn.read_all(&format!("a slice of {size}"), size);
        turn.judge();
    }
}

#[test]
fn bytes_of_binaries() {
    // Short ones, copies and slices of them, and those outside of the heap.
    for size in [0, 1, 7, 8, 9, 24, 25, 256, 257, 300] {
        let mut turn = Turn::new();
        let whole = turn.text(size);
        turn.code.push(mov(BINARY, whole));
        turn.read_bytes(&format!("a binary of {size}"), size as i64);
        turn.judge();
    }
    for (whole, from, count) in [(100, 3, 50), (300, 3, 50), (300, 275, 25), (300, 1, 24)] {
        let mut turn = Turn::new();
        let text = turn.text(whole);
        let operands = [from * 8, count].map(|n| turn.integer(n));
        turn.op(BINARY, P::BinSlice, vec![text, operands[0], operands[1]]);
        turn.read_bytes(&format!("{count} bytes from {from} of {whole}"), count);
        turn.judge();
    }
}

/// Checks characters of one byte and of more, and numbers that are not characters.
#[test]
fn characters() {
    let mut turn = Turn::new();
    let text = "aß\u{7F}€😀\u{80}".as_bytes().to_vec();
    let size = text.len() as i64;
    let text = turn.build.constant(Constant::Binary(text));
    turn.code.push(mov(BINARY, k(text)));
    for position in (0..=size).map(|n| n * 8).chain([4, -8]) {
        let operand = turn.integer(position);
        turn.read(&format!("at {position}"), P::BinUtf8, &[operand]);
    }
    let around = [0, 0x80, 0x800, 0x1_0000, 0xD800, 0xE000, 0x11_0000];
    for c in around
        .iter()
        .flat_map(|c| [c - 1, *c])
        .chain([FIXNUM_MIN, FIXNUM_MAX])
    {
        let c = turn.integer(c);
        turn.code.push(mov(BINARY, c));
        turn.read(&format!("bits of {c:?}"), P::Utf8Bits, &[]);
    }
    for odd in [Constant::Float(97.0), Constant::Nil] {
        let name = format!("bits of {odd:?}");
        let odd = turn.build.constant(odd);
        turn.code.push(mov(BINARY, k(odd)));
        turn.read(&name, P::Utf8Bits, &[]);
    }
    turn.judge();
}

/// A slice that native code has made is one like any other.
#[test]
fn slices_of_slices() {
    let mut turn = Turn::new();
    let whole = turn.text(150);
    let operands = [8, 140, 16, 100].map(|n| turn.integer(n));
    turn.op(BINARY, P::BinSlice, vec![whole, operands[0], operands[1]]);
    turn.op(
        BINARY,
        P::BinSlice,
        vec![r(BINARY), operands[2], operands[3]],
    );
    turn.op(BINARY, P::BinRest, vec![r(BINARY), operands[0]]);
    turn.read_at("a slice of a slice", 99, &[8, 99 * 8 - 25 * 8]);
    turn.judge();
}

#[test]
fn bitstrings() {
    for (size, unused) in [(1, 7), (40, 3)] {
        let mut turn = Turn::new();
        let bytes = (0..size).map(|i| (i % 256) as u8).collect();
        let bits = turn.build.constant(Constant::Bits { unused, bytes });
        turn.code.push(mov(BINARY, k(bits)));
        turn.read_all("a bitstring", size);
        for p in [P::ByteSize, P::BitSize] {
            turn.read("of a bitstring", p, &[]);
        }
        turn.read_at("a bitstring", size, &[3, 8, 12]);
        turn.judge();
    }
}

#[test]
fn whole_binaries() {
    for size in [0, 24, 40, 300] {
        let mut turn = Turn::new();
        let whole = turn.text(size);
        turn.code.push(mov(BINARY, whole));
        turn.read_at(&format!("a binary of {size}"), size as i64, &[8]);
        turn.judge();
    }
}

#[test]
fn what_is_no_binary() {
    for odd in [
        Constant::Integer(40),
        Constant::Float(1e300),
        Constant::Nil,
        Constant::Tuple(vec![0, 1, 0]),
        Constant::Map(vec![(0, 1)]),
    ] {
        let mut turn = Turn::new();
        let name = format!("{odd:?}");
        let odd = turn.build.constant(odd);
        turn.code.push(mov(BINARY, k(odd)));
        turn.read_at(&name, 30, &[]);
        turn.read_bytes(&name, 30);
        turn.judge();
    }
}
