//! Many messages in one call. They are written one by one and enter together; the caller continues with the rest.
use crate::codec::budget::{spent, WriteMode};
use crate::codec::encode::Writer;
use crate::enter::noted;
use crate::enter::target::{refusal, Addressee};
use crate::held::lives::present;
use crate::held::machine::{sponsor, MachineResource};
use crate::held::structs::{address_fields, Fields};
use crate::term::atoms::names;
use crate::term::read::{list_cell, tuple_elements};
use crate::term::resource;
use mote_vm::boundary::batch::BatchLetters;
use mote_vm::machine::durable::{begin_record, end_record};
use mote_vm::machine::{Entrance, Machine, Refusal};
use mote_vm::values::actor::SponsorId;
use mote_vm::values::handles::{Held, Key};
use rustler::sys::ErlNifTerm;
use rustler::{Atom, Encoder, Env, Term};

/// Messages that enter together.
pub const BATCH: usize = 1_000;
/// Words after which a batch is full. Its buffer is kept for other batches.
const BATCH_WORDS: usize = 64 << 10;
/// Bytes outside of heaps after which a batch is full. A batch is refused whole when there is no memory for all of it.
const BATCH_EXTERNAL_BYTES: usize = 128 << 10;

/// The address of a pair, or that it leads elsewhere.
pub fn address_of(pair: Term<'_>) -> Result<Fields<'_>, Atom> {
    let [address, _] = tuple_elements(pair) else {
        return Err(names::other());
    };
    // SAFETY: elements belong to the environment of their tuple.
    let address = unsafe { Term::new(pair.get_env(), *address) };
    address_fields(address).ok_or_else(names::other)
}

/// The sponsor that a message to that address is sent by.
pub fn sponsor_of(
    machine: &Machine,
    address: &Fields<'_>,
    named: Option<SponsorId>,
) -> Result<Option<SponsorId>, Atom> {
    match address.sponsor {
        Some(name) => machine
            .sponsor(name)
            .map(Some)
            .ok_or_else(names::no_sponsor),
        None => Ok(named),
    }
}

/// Pairs whose actors are looked up together: a lock for each of them would take as long as writing its message.
const AHEAD: usize = 32;

/// The next pairs of a list.
struct Ahead<'m, 'a> {
    machine: (&'m MachineResource, &'m Machine),
    /// The sponsor that the call names.
    named: Option<SponsorId>,
    /// The last address, and its reference to the machine: most are the same.
    last: Option<ErlNifTerm>,
    reference: Option<ErlNifTerm>,
    pairs: Vec<Pair<'a>>,
    /// The keys of those whose address is another one than that before.
    keys: Vec<Key>,
}

struct Pair<'a> {
    /// The list that begins with it.
    from: Term<'a>,
    /// The actor, and the sponsor that its messages are sent by, if it is another one than that of the pair before.
    to: Option<(Key, Option<SponsorId>)>,
    message: Term<'a>,
}

impl<'a> Ahead<'_, 'a> {
    /// Reads pairs, up to one that has to be sent otherwise. Returns the rest of the list, and why it is left if that is known.
    fn read(&mut self, list: Term<'a>) -> (Term<'a>, Option<Atom>) {
        self.pairs.clear();
        self.keys.clear();
        let mut rest = list;
        while let Some((pair, tail)) = list_cell(rest).filter(|_| self.pairs.len() < AHEAD) {
            let [address, message] = *tuple_elements(pair) else {
                return (rest, Some(names::other()));
            };
            let is_last = self.last.replace(address) == Some(address);
            // SAFETY: elements belong to the environment of their tuple.
            let [address, message] =
                [address, message].map(|term| unsafe { Term::new(pair.get_env(), term) });
            let to = match is_last {
                true => None,
                false => match self.actor(address) {
                    Ok(to) => Some(to),
                    Err(why) => return (rest, Some(why)),
                },
            };
            self.keys.extend(to.map(|(key, _)| key));
            self.pairs.push(Pair {
                from: rest,
                to,
                message,
            });
            rest = tail;
        }
        (rest, None)
    }

    fn actor(&mut self, address: Term<'_>) -> Result<(Key, Option<SponsorId>), Atom> {
        let address = address_fields(address).ok_or_else(names::other)?;
        let (resource, machine) = self.machine;
        let reference = address.machine.as_c_arg();
        if self.reference.replace(reference) != Some(reference) {
            let machine: Option<&MachineResource> = resource::get(present(address.machine));
            if !std::ptr::eq(machine.ok_or_else(names::other)?, resource) {
                return Err(names::more_left());
            }
        }
        Ok((address.key, sponsor_of(machine, &address, self.named)?))
    }
}

/// Messages on their way to one entrance.
pub struct Run<'m, 'a> {
    machine: &'m Machine,
    entrance: Entrance,
    pub letters: BatchLetters,
    /// Where the machine notes what comes in, the records of its messages, and where each message ends there. Messages in a row for one
    /// actor have one record, which says its key once: whom each record is for, and where it begins; and whom the next ones are for.
    records: Vec<u8>,
    ends: Vec<usize>,
    noted: Vec<(Key, usize)>,
    key: Option<Key>,
    writer: Writer<'m, 'a>,
    /// The reference to the machine.
    reference: Term<'a>,
    /// The reason why it does not go on.
    pub why: Atom,
}

impl<'m, 'a> Run<'m, 'a> {
    pub fn new(
        (reference, resource): (Term<'a>, &'m MachineResource),
        machine: &'m Machine,
        entrance: Entrance,
        mode: WriteMode<'a>,
    ) -> Self {
        let (letters, builder) = machine.letters();
        let mut writer = Writer::new(resource, machine, mode);
        writer.builder = builder;
        writer.is_tried_again = true;
        Run {
            machine,
            entrance,
            letters,
            records: Vec::new(),
            ends: Vec::new(),
            noted: Vec::new(),
            key: None,
            writer,
            reference,
            why: names::ok(),
        }
    }

    /// Writes the messages of pairs. Returns the list from the first one on that it does not take, and notes why.
    fn write_pairs(&mut self, ahead: &Ahead<'_, 'a>) -> Result<(), Term<'a>> {
        let mut found = self.machine.look_up(&mut self.letters, &ahead.keys);
        for pair in &ahead.pairs {
            if let Some((key, sponsor)) = pair.to {
                let Some(at) = found.next() else {
                    self.why = names::unknown();
                    return Err(pair.from);
                };
                let machine = self.machine;
                if !machine.address_at(&mut self.letters, at, sponsor, &self.entrance) {
                    self.why = names::more_left();
                    return Err(pair.from);
                }
                self.key = Some(key);
            }
            if !self.write(pair.message) {
                return Err(pair.from);
            }
        }
        Ok(())
    }

    /// Directs the following messages to the actor of that key.
    fn address(&mut self, held: Held, key: Key) {
        self.letters.address(held);
        self.key = Some(key);
    }

    /// Writes a message if the batch has room. Returns false when the batch must end, and notes why.
    pub fn write(&mut self, message: Term<'a>) -> bool {
        if self.letters.len() == BATCH
            || self.writer.builder.len() >= BATCH_WORDS
            || self.writer.builder.external_bytes() >= BATCH_EXTERNAL_BYTES
        {
            self.why = names::more_left();
            return false;
        }
        let position = self.writer.builder.position();
        let written = self.writer.term(message).map_err(Atom::from);
        // Before it is among the letters: nothing enters that has no record.
        if let Err(halt) = written.and_then(|()| self.record(message)) {
            self.writer.rewind(position);
            self.why = match self.letters.is_empty() {
                true => halt,
                false => names::more_left(),
            };
            return false;
        }
        self.letters.end(&self.writer.builder);
        true
    }

    /// Writes the record of a message, where the machine notes what comes in.
    fn record(&mut self, message: Term<'_>) -> Result<(), Atom> {
        let Some(key) = self.key.filter(|_| self.machine.is_durable()) else {
            return Ok(());
        };
        let end = self.records.len();
        let begin = match self.noted.last() {
            Some((last, begin)) if *last == key => *begin,
            _ => {
                begin_record(&mut self.records);
                noted::begin_messages(key, false, &mut self.records);
                end
            }
        };
        noted::add_message(message, begin, &mut self.records)
            .inspect_err(|_| self.records.truncate(end))?;
        if begin == end {
            self.noted.push((key, begin));
        }
        self.ends.push(self.records.len());
        Ok(())
    }

    /// Returns the records of the first `count` messages.
    fn take_records(&mut self, count: usize) -> Vec<u8> {
        let mut records = std::mem::take(&mut self.records);
        let all = count.checked_sub(1).map_or(0, |last| self.ends[last]);
        records.truncate(all);
        let begun = self.noted.iter().filter(|(_, begin)| *begin < all);
        begun.rev().fold(all, |end, (_, begin)| {
            end_record(&mut records, *begin, end);
            *begin
        });
        records
    }

    /// Sends the written messages of `list`, up to `rest`. Returns the number accepted, the rest of the list, and why it is left:
    /// `{machine, why}` where that is to say when its disk has them.
    pub fn send(mut self, list: Term<'a>, rest: Term<'a>) -> Term<'a> {
        let env = list.get_env();
        // A message costs more than its parts.
        spent(list.get_env(), 2 * self.letters.len());
        self.writer.count_spent(list.get_env());
        let batch =
            std::mem::take(&mut self.letters).seal(std::mem::take(&mut self.writer.builder));
        let machine = self.machine;
        let has_records = !self.records.is_empty();
        let sent = match has_records {
            false => machine.send_batch(&self.entrance, batch),
            true => machine.noting(|notes| {
                if !self.noted.iter().all(|(key, _)| machine.holds(*key)) {
                    // Somebody has let go of one meanwhile: each of them alone says which.
                    return (0, Some(Refusal::Full { patient: true }));
                }
                let (accepted, why) = machine.send_batch(&self.entrance, batch);
                if let Some(notes) = notes {
                    notes.records(self.take_records(accepted));
                }
                (accepted, why)
            }),
        };
        let (accepted, rest, why) = match sent {
            (accepted, None) => (accepted, rest, self.why),
            (accepted, Some(refused)) => (accepted, after(list, accepted), refusal(refused)),
        };
        match accepted > 0 && has_records && machine.is_waited_for() {
            true => (accepted, rest, (self.reference, why)).encode(env),
            false => (accepted, rest, why).encode(env),
        }
    }
}

/// The list behind its first `n` elements.
fn after(list: Term<'_>, n: usize) -> Term<'_> {
    (0..n).fold(list, |rest, _| {
        list_cell(rest).map_or(rest, |(_, tail)| tail)
    })
}

/// Sends a list to one actor, as many messages as are good for a scheduler. Returns the number accepted, the rest of the list, and why it
/// is left.
pub fn send_to_one<'a>(
    env: Env<'a>,
    target: (Term<'a>, Term<'a>, Term<'a>),
    messages: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let found = Addressee::find(target).and_then(|target| {
        let held = target.machine.hold(target.key);
        Ok((held.ok_or_else(names::unknown)?, target))
    });
    let (held, target) = match found {
        Ok(found) => found,
        Err(word) => return (0, messages, word).encode(env),
    };
    let entrance = target.machine.entrance_to(&held, target.sponsor);
    let mut run = Run::new(
        (target.reference, target.resource),
        target.machine,
        entrance,
        mode,
    );
    run.address(held, target.key);
    let mut rest = messages;
    while let Some((message, tail)) = list_cell(rest) {
        if !run.write(message) {
            break;
        }
        rest = tail;
    }
    run.send(messages, rest)
}

/// Sends each message of a list of `{address, message}`. Returns the same as [`send_to_one`].
pub fn send_to_each<'a>(
    env: Env<'a>,
    pairs: Term<'a>,
    name: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let Some((first, _)) = list_cell(pairs) else {
        return (0, pairs, names::ok()).encode(env);
    };
    let found = address_of(first).and_then(|address| {
        let reference = present(address.machine);
        let resource: &MachineResource = resource::get(reference).ok_or_else(names::other)?;
        let machine = resource.open(env)?;
        let named = sponsor(machine, name)?;
        let own = sponsor_of(machine, &address, named)?;
        let held = machine.hold(address.key).ok_or_else(names::unknown)?;
        let entrance = machine.entrance_to(&held, own);
        Ok(((reference, resource), machine, named, entrance))
    });
    let ((reference, resource), machine, named, entrance) = match found {
        Ok(found) => found,
        Err(word) => return (0, pairs, word).encode(env),
    };
    let mut run = Run::new((reference, resource), machine, entrance, mode);
    let mut ahead = Ahead {
        machine: (resource, machine),
        named,
        last: None,
        reference: None,
        pairs: Vec::with_capacity(AHEAD),
        keys: Vec::with_capacity(AHEAD),
    };
    let mut rest = pairs;
    loop {
        let (behind, why) = ahead.read(rest);
        if let Err(left) = run.write_pairs(&ahead) {
            return run.send(pairs, left);
        }
        rest = behind;
        if let Some(why) = why {
            run.why = why;
            break;
        }
        if ahead.pairs.len() < AHEAD {
            break;
        }
    }
    run.send(pairs, rest)
}
