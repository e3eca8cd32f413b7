//! What registers hold: words, machine floats, tests.
use super::{Body, Here, Mode};
use crate::kinds::Kinds;
use crate::link::Reference;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{ExternalName, GlobalValueData, InstBuilder, Value};
use mote_vm::code::ir::{Operand, Register};
use mote_vm::values::value::Value as Word;

impl Body<'_, '_> {
    pub(super) fn copy(&mut self, d: Register, src: Operand) {
        let r = match src {
            Operand::Constant(_) => {
                let value = self.constant_of(src);
                let word = self.literal(value);
                self.set_word(d, word);
                if let (Some(f), Mode::Fast) = (value.as_float(), self.mode) {
                    let float = self.b.ins().f64const(f);
                    self.b.def_var(self.active.floats[d as usize], float);
                    self.active.here[d as usize].float = true;
                }
                return;
            }
            Operand::Register(r) => r as usize,
        };
        let here = self.active.here[r];
        if here.word {
            let word = self.b.use_var(self.active.words[r]);
            self.b.def_var(self.active.words[d as usize], word);
        }
        if here.float {
            let float = self.b.use_var(self.active.floats[r]);
            self.b.def_var(self.active.floats[d as usize], float);
        }
        self.active.here[d as usize] = here;
    }

    pub(super) fn set_word(&mut self, r: Register, word: Value) {
        self.b.def_var(self.active.words[r as usize], word);
        self.active.here[r as usize] = Here {
            word: true,
            float: false,
            test: None,
        };
    }

    pub(super) fn set_float(&mut self, r: Register, float: Value) {
        self.b.def_var(self.active.floats[r as usize], float);
        self.active.here[r as usize] = Here {
            word: false,
            float: true,
            test: None,
        };
    }

    pub(super) fn set_test(&mut self, r: Register, test: Value) {
        self.active.here[r as usize] = Here {
            word: false,
            float: false,
            test: Some(test),
        };
    }

    /// The word of an operand.
    pub(super) fn word(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Register(r) => self.word_of(r),
            Operand::Constant(_) => {
                let value = self.constant_of(operand);
                self.literal(value)
            }
        }
    }

    /// The word of a register; written if it was not.
    pub(super) fn word_of(&mut self, r: Register) -> Value {
        let here = self.active.here[r as usize];
        let variable = self.active.words[r as usize];
        if here.word {
            return self.b.use_var(variable);
        }
        let word = if let Some(test) = here.test {
            self.truth(test)
        } else {
            let float = self.b.use_var(self.active.floats[r as usize]);
            self.encode(float)
        };
        self.b.def_var(variable, word);
        self.active.here[r as usize].word = true;
        word
    }

    pub(super) fn constant_of(&self, operand: Operand) -> Word {
        match operand {
            Operand::Constant(k) => self.active.subject.constants[k as usize],
            Operand::Register(_) => Word::NONE,
        }
    }

    pub(super) fn is_empty_binary(&self, operand: Operand) -> bool {
        let value = self.constant_of(operand);
        !value.is_none() && value.as_binary().is_some_and(<[u8]>::is_empty)
    }

    pub(super) fn literal(&mut self, value: Word) -> Value {
        if value.is_immediate() || value.is_none() {
            return self.b.ins().iconst(I64, value.word() as i64);
        }
        let index = self.unit.constants.iter().position(|c| *c == value);
        let index = index.expect("what points anywhere is a constant of the unit");
        self.reference(Reference::Constant(index))
    }

    /// The word of what each machine has at a place of its own.
    pub(super) fn reference(&mut self, to: Reference) -> Value {
        let function = &mut self.b.func;
        let name = function.declare_imported_user_function(to.name());
        let value = function.create_global_value(GlobalValueData::Symbol {
            name: ExternalName::user(name),
            offset: 0.into(),
            // A whole word, so that an image can be placed for any machine (link.rs).
            colocated: false,
            tls: false,
        });
        self.b.ins().symbol_value(I64, value)
    }

    /// Tests whether a word is `value`, which refers to nothing.
    pub(super) fn is_word(&mut self, word: Value, value: Word) -> Value {
        self.b
            .ins()
            .icmp_imm_s(IntCC::Equal, word, value.word() as i64)
    }

    /// `true` or `false` as a word.
    pub(super) fn truth(&mut self, test: Value) -> Value {
        let yes = self.literal(Word::TRUE);
        let no = self.literal(Word::FALSE);
        self.b.ins().select(test, yes, no)
    }

    /// Tests whether an operand is `true`.
    pub(super) fn is_true(&mut self, operand: Operand) -> Value {
        if let Operand::Register(r) = operand {
            if let Some(test) = self.active.here[r as usize].test {
                return test;
            }
        }
        let word = self.word(operand);
        self.is_word(word, Word::TRUE)
    }

    pub(super) fn kinds(&self, operand: Operand) -> Kinds {
        match (self.mode, operand) {
            (Mode::Slow, Operand::Register(_)) => Kinds::ANY,
            _ => self
                .active
                .state
                .kinds(operand, self.active.subject.constants),
        }
    }
}
