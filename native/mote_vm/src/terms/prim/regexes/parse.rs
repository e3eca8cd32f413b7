//! The text of a pattern -> what it consists of; nothing for what this does not know.
use super::nodes::{Anchor, CharacterKind, CharacterSet, Greed, Item, Parsed, RegexNode, ENDLESS};

/// Groups in groups, at most.
const DEPTH: usize = 100;

#[derive(Clone, Copy)]
struct Flags {
    caseless: bool,
    lines: bool,
    all: bool,
    spaced: bool,
    lazy: bool,
}

struct Parser {
    text: Vec<u32>,
    at: usize,
    flags: Flags,
    groups: usize,
    /// The groups that have ended.
    ended: Vec<usize>,
    names: Vec<(Vec<u8>, usize)>,
    unicode: bool,
    depth: usize,
}

pub(super) fn parse(source: &[u8], options: &[u8]) -> Option<Parsed> {
    let unicode = options.contains(&b'u');
    if options.iter().any(|option| !b"imsxuUr".contains(option)) {
        return None;
    }
    let text = match unicode {
        true => std::str::from_utf8(source)
            .ok()?
            .chars()
            .map(u32::from)
            .collect(),
        false => source.iter().map(|b| u32::from(*b)).collect(),
    };
    let has = |option| options.contains(&option);
    let flags = Flags {
        caseless: has(b'i'),
        lines: has(b'm'),
        all: has(b's'),
        spaced: has(b'x'),
        lazy: has(b'U') || has(b'r'),
    };
    let mut parser = Parser {
        text,
        at: 0,
        flags,
        groups: 0,
        ended: Vec::new(),
        names: Vec::new(),
        unicode,
        depth: 0,
    };
    let node = parser.alternatives()?;
    if parser.at < parser.text.len() {
        return None;
    }
    parser.names.sort();
    let named = parser.names.windows(2).all(|pair| pair[0].0 != pair[1].0);
    named.then_some(Parsed {
        node,
        groups: parser.groups,
        names: parser.names,
        unicode,
        returns: has(b's'),
    })
}

fn is(c: Option<u32>, expected: u8) -> bool {
    c == Some(u32::from(expected))
}

impl Parser {
    fn peek(&self) -> Option<u32> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u32> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn starts(&mut self, word: &str) -> bool {
        let found = word
            .bytes()
            .enumerate()
            .all(|(i, b)| is(self.text.get(self.at + i).copied(), b));
        if found {
            self.at += word.len();
        }
        found
    }

    /// What an option in the middle says holds to the end of the group, in the alternatives behind it as well.
    fn alternatives(&mut self) -> Option<RegexNode> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let before = self.flags;
        let mut all = vec![self.sequence()?];
        while self.starts("|") {
            all.push(self.sequence()?);
        }
        self.flags = before;
        self.depth -= 1;
        Some(if all.len() == 1 {
            all.remove(0)
        } else {
            RegexNode::Either(all)
        })
    }

    fn sequence(&mut self) -> Option<RegexNode> {
        let mut nodes = Vec::new();
        loop {
            if self.flags.spaced && self.skipped() {
                continue;
            }
            match self.peek() {
                None => break,
                Some(c) if c == u32::from(b'|') || c == u32::from(b')') => break,
                _ => {}
            }
            if let Some(node) = self.atom()? {
                let node = self.repeated(node)?;
                nodes.push(node);
            }
        }
        Some(RegexNode::All(nodes))
    }

    /// Space and comments of an extended pattern.
    fn skipped(&mut self) -> bool {
        match self.peek() {
            Some(9..=13 | 32) => self.at += 1,
            Some(0x23) => while self.take().is_some_and(|c| c != 10) {},
            _ => return false,
        }
        true
    }

    /// Nothing inside for options that are set.
    fn atom(&mut self) -> Option<Option<RegexNode>> {
        let flags = self.flags;
        let c = self.take()?;
        let Ok(byte) = u8::try_from(c) else {
            return self.literal(c).map(Some);
        };
        Some(Some(match byte {
            b'.' => RegexNode::Any(flags.all),
            b'^' => RegexNode::Place(if flags.lines {
                Anchor::LineStart
            } else {
                Anchor::Start
            }),
            b'$' => RegexNode::Place(if flags.lines {
                Anchor::LineEnd
            } else {
                Anchor::End
            }),
            b'[' => RegexNode::Set(self.set()?.into()),
            b'(' => return self.group(),
            b'\\' => self.escape()?,
            b'*' | b'+' | b'?' => return None,
            _ => self.literal(c)?,
        }))
    }

    /// Other cases beyond ASCII are known of Latin-1 only.
    fn literal(&self, c: u32) -> Option<RegexNode> {
        let unknown = self.flags.caseless && self.unicode && c > 0x7F;
        (!unknown).then_some(RegexNode::Char(c, self.flags.caseless))
    }

    fn repeated(&mut self, node: RegexNode) -> Option<RegexNode> {
        let Some((least, most)) = self.count()? else {
            return Some(node);
        };
        // Places and looks can be repeated, but PCRE has its own ways of that.
        if matches!(node, RegexNode::Place(_) | RegexNode::Look { .. }) {
            return None;
        }
        let lazy = self.flags.lazy;
        let greed = match () {
            _ if self.starts("+") => Greed::Possessive,
            _ if self.starts("?") != lazy => Greed::Lazy,
            _ => Greed::Greedy,
        };
        // So it has of what is repeated again.
        self.count()?.is_none().then_some(RegexNode::Repeat {
            node: Box::new(node),
            least,
            most,
            greed,
        })
    }

    /// Parses how often the part before is repeated; nothing inside if it is not.
    fn count(&mut self) -> Option<Option<(u32, u32)>> {
        if self.flags.spaced {
            while self.skipped() {}
        }
        let counts = match self.peek() {
            c if is(c, b'*') => (0, ENDLESS),
            c if is(c, b'+') => (1, ENDLESS),
            c if is(c, b'?') => (0, 1),
            c if is(c, b'{') => match self.counted()? {
                Some(counts) => counts,
                None => return Some(None),
            },
            _ => return Some(None),
        };
        self.at += 1;
        Some(Some(counts))
    }

    /// `{2}`, `{2,}` or `{2,3}` up to its end; nothing inside where it is text.
    fn counted(&mut self) -> Option<Option<(u32, u32)>> {
        let start = self.at;
        self.at += 1;
        let least = self.number();
        let comma = self.starts(",");
        let most = if comma { self.number() } else { least };
        let ended = is(self.peek(), b'}');
        match (least, most) {
            (Some(least), _) if ended => {
                let most = if comma {
                    most.unwrap_or(ENDLESS)
                } else {
                    least
                };
                if least > 1_000 || (most > 1_000 && most != ENDLESS) || least > most {
                    return None;
                }
                Some(Some((least, most)))
            }
            // Later releases take this for a number, too.
            (None, _) if ended && comma => None,
            // A brace that counts nothing is text: it begins the next atom.
            _ => {
                self.at = start;
                Some(None)
            }
        }
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        let mut n = 0u32;
        while let Some(c @ 0x30..=0x39) = self.peek() {
            n = n.checked_mul(10)?.checked_add(c - 0x30)?;
            self.at += 1;
        }
        (self.at > start).then_some(n)
    }

    fn group(&mut self) -> Option<Option<RegexNode>> {
        if self.starts("*") {
            return None;
        }
        if !self.starts("?") {
            return self.capture(None).map(Some);
        }
        if self.starts("#") {
            while self.take()? != u32::from(b')') {}
            return Some(None);
        }
        let node = match () {
            _ if self.starts(":") => self.inner()?,
            _ if self.starts("=") => self.look(false, false)?,
            _ if self.starts("!") => self.look(false, true)?,
            _ if self.starts("<=") => self.look(true, false)?,
            _ if self.starts("<!") => self.look(true, true)?,
            _ if self.starts(">") => RegexNode::Atomic(Box::new(self.inner()?)),
            _ if self.starts("P<") || self.starts("<") => self.named(b'>')?,
            _ if self.starts("'") => self.named(b'\'')?,
            _ => return self.options(),
        };
        Some(Some(node))
    }

    fn inner(&mut self) -> Option<RegexNode> {
        let node = self.alternatives()?;
        self.starts(")").then_some(node)
    }

    fn look(&mut self, behind: bool, negated: bool) -> Option<RegexNode> {
        Some(RegexNode::Look {
            behind,
            negated,
            node: Box::new(self.inner()?),
        })
    }

    fn capture(&mut self, name: Option<Vec<u8>>) -> Option<RegexNode> {
        self.groups += 1;
        let group = self.groups;
        if let Some(name) = name {
            self.names.push((name, group));
        }
        let node = self.inner()?;
        self.ended.push(group);
        Some(RegexNode::Group(group, Box::new(node)))
    }

    fn named(&mut self, end: u8) -> Option<RegexNode> {
        let name = self.name(end)?;
        self.capture(Some(name))
    }

    fn name(&mut self, end: u8) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.take()? {
                c if c == u32::from(end) => break,
                c @ (0x30..=0x39 | 0x41..=0x5A | 0x5F | 0x61..=0x7A) => name.push(c as u8),
                _ => return None,
            }
        }
        let fits = name.first().is_some_and(|c| !c.is_ascii_digit()) && name.len() <= 32;
        fits.then_some(name)
    }

    /// `(?i-m)`, and `(?i:…)`.
    fn options(&mut self) -> Option<Option<RegexNode>> {
        let before = self.flags;
        let mut on = true;
        loop {
            match u8::try_from(self.take()?).ok()? {
                b'-' if on => on = false,
                b'i' => self.flags.caseless = on,
                b'm' => self.flags.lines = on,
                b's' => self.flags.all = on,
                b'x' => self.flags.spaced = on,
                b'U' => self.flags.lazy = on,
                b')' => return Some(None),
                b':' => {
                    let node = self.inner()?;
                    self.flags = before;
                    return Some(Some(node));
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<RegexNode> {
        let caseless = self.flags.caseless;
        let c = self.take()?;
        let Ok(byte) = u8::try_from(c) else {
            return self.literal(c);
        };
        if let Some((kind, other)) = kind(byte) {
            let set = CharacterSet {
                items: vec![Item::Kind(kind, other)],
                negated: false,
                caseless: false,
            };
            return Some(RegexNode::Set(set.into()));
        }
        Some(match byte {
            b'b' => RegexNode::Place(Anchor::Word(true)),
            b'B' => RegexNode::Place(Anchor::Word(false)),
            b'A' => RegexNode::Place(Anchor::Start),
            b'Z' => RegexNode::Place(Anchor::End),
            b'z' => RegexNode::Place(Anchor::VeryEnd),
            b'1'..=b'9' => {
                self.at -= 1;
                match self.number()? {
                    // A higher one may be a character in octal.
                    group @ 1..=9 => self.again(group as usize, caseless)?,
                    _ => return None,
                }
            }
            b'k' => {
                let end = match self.take()? {
                    0x3C => b'>',
                    0x7B => b'}',
                    _ => return None,
                };
                let name = self.name(end)?;
                let group = self.names.iter().find(|(n, _)| *n == name)?.1;
                self.again(group, caseless)?
            }
            _ => {
                let c = self.character(byte)?;
                self.literal(c)?
            }
        })
    }

    /// A group that has not ended has its own rules.
    fn again(&self, group: usize, caseless: bool) -> Option<RegexNode> {
        self.ended
            .contains(&group)
            .then_some(RegexNode::Again(group, caseless))
    }

    /// An escape that stands for one character.
    fn character(&mut self, byte: u8) -> Option<u32> {
        Some(match byte {
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'f' => 12,
            b'e' => 27,
            b'a' => 7,
            b'0' if !matches!(self.peek(), Some(0x30..=0x39)) => 0,
            b'x' => self.hexadecimal()?,
            _ if byte.is_ascii_alphanumeric() => return None,
            _ => u32::from(byte),
        })
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let braces = self.starts("{");
        let most = if braces { 6 } else { 2 };
        let mut n = 0;
        let mut digits = 0;
        while digits < most {
            let Some(digit) = self
                .peek()
                .and_then(char::from_u32)
                .and_then(|c| c.to_digit(16))
            else {
                break;
            };
            n = n * 16 + digit;
            self.at += 1;
            digits += 1;
        }
        let fits = digits > 0
            && (!braces || self.starts("}"))
            && if self.unicode {
                char::from_u32(n).is_some()
            } else {
                n < 256
            };
        fits.then_some(n)
    }

    fn set(&mut self) -> Option<CharacterSet> {
        let negated = self.starts("^");
        let mut items = Vec::new();
        loop {
            let first = items.is_empty();
            match self.take()? {
                0x5D if !first => break,
                0x5B if self.starts(":") => items.push(self.posix()?),
                0x5B if is(self.peek(), b'.') || is(self.peek(), b'=') => return None,
                c => match self.member(c)? {
                    Item::Range(low, _)
                        if is(self.peek(), b'-')
                            && !is(self.text.get(self.at + 1).copied(), b']') =>
                    {
                        self.at += 1;
                        let c = self.take()?;
                        // Of a kind behind it the hyphen is text, with a warning in some releases.
                        match self.member(c)? {
                            Item::Range(high, _) if low <= high => {
                                items.push(Item::Range(low, high))
                            }
                            _ => return None,
                        }
                    }
                    // And so it is behind a kind, where no end follows.
                    Item::Kind(..)
                        if is(self.peek(), b'-')
                            && !is(self.text.get(self.at + 1).copied(), b']') =>
                    {
                        return None
                    }
                    item => items.push(item),
                },
            }
        }
        let unknown = self.flags.caseless
            && self.unicode
            && items
                .iter()
                .any(|item| matches!(item, Item::Range(_, high) if *high > 0x7F));
        (!unknown).then_some(CharacterSet {
            items,
            negated,
            caseless: self.flags.caseless,
        })
    }

    fn member(&mut self, c: u32) -> Option<Item> {
        if c != u32::from(b'\\') {
            return Some(Item::Range(c, c));
        }
        let c = self.take()?;
        let Ok(byte) = u8::try_from(c) else {
            return Some(Item::Range(c, c));
        };
        if let Some((kind, other)) = kind(byte) {
            return Some(Item::Kind(kind, other));
        }
        let c = if byte == b'b' {
            8
        } else {
            self.character(byte)?
        };
        Some(Item::Range(c, c))
    }

    fn posix(&mut self) -> Option<Item> {
        let other = self.starts("^");
        let start = self.at;
        while matches!(self.peek(), Some(0x61..=0x7A)) {
            self.at += 1;
        }
        let name: Vec<u8> = self.text[start..self.at].iter().map(|c| *c as u8).collect();
        let kind = match &name[..] {
            b"alpha" => CharacterKind::Alpha,
            b"alnum" => CharacterKind::Alnum,
            b"ascii" => CharacterKind::Ascii,
            b"blank" => CharacterKind::Blank,
            b"cntrl" => CharacterKind::Control,
            b"digit" => CharacterKind::Digit,
            b"graph" => CharacterKind::Graph,
            b"lower" => CharacterKind::Lower,
            b"print" => CharacterKind::Print,
            b"punct" => CharacterKind::Punct,
            b"space" => CharacterKind::Space,
            b"upper" => CharacterKind::Upper,
            b"word" => CharacterKind::Word,
            b"xdigit" => CharacterKind::Hex,
            _ => return None,
        };
        // `[[:blank:]]` of Latin-1 is less than `\h`.
        let known = kind != CharacterKind::Blank || self.unicode;
        (known && self.starts(":]")).then_some(Item::Kind(kind, other))
    }
}

/// The kinds that have an escape, and their opposites.
fn kind(byte: u8) -> Option<(CharacterKind, bool)> {
    let kind = match byte.to_ascii_lowercase() {
        b'd' => CharacterKind::Digit,
        b'w' => CharacterKind::Word,
        b's' => CharacterKind::Space,
        b'h' => CharacterKind::Blank,
        b'v' => CharacterKind::Vertical,
        _ => return None,
    };
    Some((kind, byte.is_ascii_uppercase()))
}
