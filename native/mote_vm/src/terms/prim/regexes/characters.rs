//! Kinds of characters, and their other cases: of bytes as in Latin-1, which is what Erlang's PCRE goes by, and of characters as far as
//! all tables of Unicode agree.
use super::nodes::{CharacterKind, CharacterSet, Item};

/// Returns whether a character is of a kind; `None` where that depends on the tables of Unicode.
pub(super) fn is_kind(kind: CharacterKind, c: u32, unicode: bool) -> Option<bool> {
    if c < 128 {
        return Some(ascii(kind, c as u8));
    }
    if !unicode {
        return Some(latin(kind, c));
    }
    match kind {
        CharacterKind::Blank | CharacterKind::Space | CharacterKind::Vertical if c == 0x180E => {
            None
        }
        CharacterKind::Blank => Some(horizontal(c)),
        CharacterKind::Vertical => Some(matches!(c, 0x85 | 0x2028 | 0x2029)),
        CharacterKind::Space => Some(horizontal(c) || matches!(c, 0x85 | 0x2028 | 0x2029)),
        CharacterKind::Hex | CharacterKind::Ascii => Some(false),
        CharacterKind::Word | CharacterKind::Alnum => letter(c).zip(number(c)).map(|(a, b)| a || b),
        CharacterKind::Alpha => letter(c),
        CharacterKind::Digit => number(c).map(|_| false),
        _ => None,
    }
}

fn ascii(kind: CharacterKind, c: u8) -> bool {
    match kind {
        CharacterKind::Alpha => c.is_ascii_alphabetic(),
        CharacterKind::Blank => matches!(c, b' ' | b'\t'),
        CharacterKind::Control => c.is_ascii_control(),
        CharacterKind::Digit => c.is_ascii_digit(),
        CharacterKind::Graph => c.is_ascii_graphic(),
        CharacterKind::Lower => c.is_ascii_lowercase(),
        CharacterKind::Print => c == b' ' || c.is_ascii_graphic(),
        CharacterKind::Punct => c.is_ascii_punctuation(),
        CharacterKind::Space => matches!(c, 9..=13 | b' '),
        CharacterKind::Upper => c.is_ascii_uppercase(),
        CharacterKind::Vertical => matches!(c, 10..=13),
        CharacterKind::Word => c == b'_' || c.is_ascii_alphanumeric(),
        CharacterKind::Hex => c.is_ascii_hexdigit(),
        CharacterKind::Alnum => c.is_ascii_alphanumeric(),
        CharacterKind::Ascii => true,
    }
}

fn latin(kind: CharacterKind, c: u32) -> bool {
    let upper = matches!(c, 0xC0..=0xDE) && c != 0xD7;
    let lower = matches!(c, 0xAA | 0xB5 | 0xBA | 0xDF..=0xFF) && c != 0xF7;
    match kind {
        CharacterKind::Alpha | CharacterKind::Word | CharacterKind::Alnum => upper || lower,
        CharacterKind::Upper => upper,
        CharacterKind::Lower => lower,
        CharacterKind::Control => c < 0xA0,
        CharacterKind::Graph | CharacterKind::Print => c >= 0xA0,
        CharacterKind::Punct => c >= 0xA0 && !upper && !lower,
        CharacterKind::Blank => c == 0xA0,
        CharacterKind::Vertical => c == 0x85,
        CharacterKind::Digit | CharacterKind::Space | CharacterKind::Hex | CharacterKind::Ascii => {
            false
        }
    }
}

fn horizontal(c: u32) -> bool {
    matches!(
        c,
        0xA0 | 0x1680 | 0x2000..=0x200A | 0x202F | 0x205F | 0x3000
    )
}

/// Letters of scripts that have not changed for long; everything else is not known.
fn letter(c: u32) -> Option<bool> {
    match c {
        0x80..=0x24F
        | 0x386
        | 0x388..=0x38A
        | 0x38E..=0x3A1
        | 0x3A3..=0x3F5
        | 0x400..=0x481
        | 0x48A..=0x513 => char::from_u32(c).map(char::is_alphabetic),
        0x3041..=0x3096 | 0x30A1..=0x30FA | 0x4E00..=0x9FA5 | 0xAC00..=0xD7A3 => Some(true),
        0x2000..=0x200A
        | 0x2010..=0x205F
        | 0x20A0..=0x20AB
        | 0x3000..=0x3003
        | 0x1F600..=0x1F64F => Some(false),
        _ => None,
    }
}

fn number(c: u32) -> Option<bool> {
    letter(c)?;
    Some(matches!(c, 0xB2 | 0xB3 | 0xB9 | 0xBC..=0xBE))
}

/// The other case of a character, or itself; `None` where tables would have to say.
pub(super) fn other_case(c: u32, unicode: bool) -> Option<u32> {
    match c {
        0x41..=0x5A => Some(c + 32),
        0x61..=0x7A => Some(c - 32),
        0..=0x7F => Some(c),
        // Between Latin-1's letters lie a product and a quotient; the last one has its other case elsewhere.
        0xC0..=0xDE if c != 0xD7 => Some(c + 32),
        0xE0..=0xFE if c != 0xF7 => Some(c - 32),
        _ if !unicode => Some(c),
        // The Kelvin sign and the long s are letters of ASCII in another case.
        0x212A => Some(0x6B),
        0x17F => Some(0x73),
        0x80..=0xBF if c != 0xB5 => Some(c),
        0xD7 | 0xF7 => Some(c),
        _ => None,
    }
}

impl CharacterSet {
    /// Returns whether a character is one of these; `None` as above.
    pub(super) fn has(&self, c: u32, unicode: bool) -> Option<bool> {
        let mut found = self.holds(c, unicode)?;
        if self.caseless && !found {
            // Kinds have no other case. Where other_case knows none, ranges do not reach that far (parse.rs).
            let others = match c {
                0x4B | 0x6B if unicode => [other_case(c, unicode), Some(0x212A)],
                0x53 | 0x73 if unicode => [other_case(c, unicode), Some(0x17F)],
                0x212A if unicode => [Some(0x4B), Some(0x6B)],
                0x17F if unicode => [Some(0x53), Some(0x73)],
                _ => [other_case(c, unicode), None],
            };
            found = others.into_iter().flatten().any(|c| self.ranges(c));
        }
        Some(found != self.negated)
    }

    fn holds(&self, c: u32, unicode: bool) -> Option<bool> {
        for item in &self.items {
            let held = match *item {
                Item::Range(low, high) => (low..=high).contains(&c),
                Item::Kind(kind, other) => {
                    // Without cases there is one kind of letters.
                    let cased = matches!(kind, CharacterKind::Upper | CharacterKind::Lower)
                        && self.caseless;
                    is_kind(if cased { CharacterKind::Alpha } else { kind }, c, unicode)? != other
                }
            };
            if held {
                return Some(true);
            }
        }
        Some(false)
    }

    fn ranges(&self, c: u32) -> bool {
        self.items
            .iter()
            .any(|item| matches!(item, Item::Range(low, high) if (*low..=*high).contains(&c)))
    }
}
