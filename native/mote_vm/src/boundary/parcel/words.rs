//! The words of a parcel: the first few of them without an allocation.
use crate::values::value::Value;

/// Number of words that a parcel has room for without an allocation.
pub(super) const FEW: usize = 4;

#[derive(Clone)]
pub(super) enum Words {
    /// The words, and how many of them are in use.
    Few([Value; FEW], u8),
    Many(Vec<Value>),
}

impl Words {
    pub(super) fn as_slice(&self) -> &[Value] {
        match self {
            Words::Few(words, n) => &words[..*n as usize],
            Words::Many(words) => words,
        }
    }
}

/// Words as they are written: the first few of them without an allocation, because most messages are no longer.
#[derive(Default)]
pub(super) struct Written {
    few: [u64; FEW],
    /// Number of words in `few`; 0 when there are `many`.
    n: usize,
    many: Vec<Value>,
}

impl Written {
    /// Creates an empty writer that writes to `many` what does not fit.
    pub(super) fn on(many: Vec<Value>) -> Written {
        Written {
            many,
            ..Written::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.n + self.many.len()
    }

    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        if self.many.is_empty() {
            if self.n < FEW {
                self.few[self.n] = word;
                self.n += 1;
                return;
            }
            self.many.reserve(4 * FEW);
            self.many.extend(self.few.map(Value::from_word));
            self.n = 0;
        }
        self.many.push(Value::from_word(word));
    }

    pub(super) fn truncate(&mut self, len: usize) {
        match self.many.is_empty() {
            true => self.n = self.n.min(len),
            false => self.many.truncate(len),
        }
    }

    #[inline]
    pub(super) fn finish(self) -> Words {
        match self.many.is_empty() {
            true => Words::Few(self.few.map(Value::from_word), self.n as u8),
            false => Words::Many(self.many),
        }
    }

    /// All of them in one row.
    pub(super) fn open(mut self) -> Vec<Value> {
        let few = self.few[..self.n].iter();
        self.many.extend(few.map(|word| Value::from_word(*word)));
        self.many
    }
}
