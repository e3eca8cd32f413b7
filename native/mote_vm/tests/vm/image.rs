//! Images: a machine goes on from one as the other would have gone on, and no image harms a machine, whatever is in it.

use crate::encode::encode;
use crate::programs::{r, Assembler};
use crate::rig::{foreign, integers, long, quiet, Rig, Tap, PATIENCE};
use crate::world::{machine_by, machine_under, show, stress, World};
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::image::file::ImageFile;
use mote_vm::image::save::NotSaved;
use mote_vm::image::tables::{AdmitAtoms, ImageIdentity, ImageTables};
use mote_vm::image::walk::WrittenForeign;
use mote_vm::image::ImageError;
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Class, Foreign, ForeignRef};
use mote_vm::values::handles::Key;
use mote_vm::{Term, View};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// `keeps(list, other)` puts what comes into its list, `tells(other)` sends on what comes, and `mute()` and `has(a, b, c)`
/// ignore it.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let keeps = a.behaviour_used("keeps", 2);
    let code = vec![
        Instr::Cons {
            dst: 3,
            head: r(2),
            tail: r(0),
        },
        Instr::Become {
            behaviour: keeps,
            captures: vec![r(3), r(1)],
        },
        Instr::Done,
    ];
    a.behaviour("keeps", 2, 4, code);
    let send = Instr::Send {
        target: r(0),
        message: r(1),
    };
    a.behaviour("tells", 1, 2, vec![send, Instr::Done]);
    a.behaviour("has", 3, 4, vec![Instr::Ignore]);
    a.safe("mute", 0, 1, vec![Instr::Ignore]);
    a.unit()
}

const SPONSORS: [(&str, usize); 2] = [("main", 1), ("other", 1)];

fn rig() -> Rig {
    Rig::by(ClockKind::Manual, &SPONSORS, unit())
}

fn identity() -> Option<ImageIdentity> {
    Some(ImageIdentity {
        name: "market".to_string(),
        lives: vec![vec![1; 20], vec![2; 12]],
    })
}

fn save(
    rig: &Rig,
    names: Parcel,
    identity: Option<ImageIdentity>,
) -> Result<(Vec<u8>, ImageTables), NotSaved> {
    let (tell, told) = channel();
    rig.machine.survey(move |survey| {
        let mut bytes = Vec::new();
        let mut take = |block: Vec<u8>| {
            bytes.extend(block);
            Some(Vec::new())
        };
        let saved = survey.save(
            &names,
            identity,
            &|_| WrittenForeign::Trace(b"it".to_vec()),
            &mut take,
        );
        let _ = tell.send(saved.map(|tables| (bytes, tables)));
    });
    told.recv_timeout(PATIENCE).expect("saved")
}

/// Names these actors, in a tuple.
fn named(rig: &Rig, actors: &[Key]) -> Parcel {
    let mut builder = Builder::new();
    builder.tuple(1);
    builder.tuple(actors.len());
    for key in actors {
        builder.address(rig.machine.hold(*key).expect("ours"));
    }
    builder.finish()
}

fn taken(rig: &Rig, actors: &[Key]) -> (Vec<u8>, ImageTables) {
    save(rig, named(rig, actors), None).expect("an image")
}

fn taken_with_keys(rig: &Rig, actors: &[Key]) -> (Vec<u8>, ImageTables) {
    save(rig, named(rig, actors), identity()).expect("an image")
}

fn lost(_: Class, written: Option<&[u8]>) -> Option<ForeignRef> {
    written.is_none().then(|| foreign(&Tap::new()))
}

fn tuple(atoms: &[&str]) -> Parcel {
    let mut builder = Builder::new();
    builder.tuple(atoms.len());
    let names = atoms.iter();
    names.for_each(|name| builder.atom(mote_vm::base::atom::Atom::new(name)));
    builder.finish()
}

/// The actors that are named.
fn keys(machine: &Machine, names: Term<'_>) -> Vec<Key> {
    let View::Tuple(elements) = names.view() else {
        return Vec::new();
    };
    let key = |element: Term<'_>| match element.view() {
        View::Address(actor) => Some(machine.acquire(actor)),
        _ => None,
    };
    elements.iter().filter_map(key).collect()
}

fn go_on(machine: &Machine, image: Vec<u8>) -> Result<Vec<Key>, ImageError> {
    go_on_with(machine, image, false)
}

fn go_on_with(machine: &Machine, image: Vec<u8>, keep: bool) -> Result<Vec<Key>, ImageError> {
    let image = ImageFile::read(image, &|_| Ok(()))?;
    let nothing = (&[][..], tuple(&[]));
    machine.restore(&image, keep, nothing, &lost, None, |names| {
        keys(machine, names)
    })
}

fn restored(image: Vec<u8>) -> (Rig, Vec<Key>) {
    let rig = rig();
    let keys = go_on(&rig.machine, image).expect("a good image");
    (rig, keys)
}

/// A value of each kind.
fn anything(builder: &mut Builder) {
    builder.tuple(9);
    assert!(builder.integer(-5) && builder.integer((1 << 62) - 1));
    builder.float(1.5);
    builder.float(1.0e-300);
    builder.any_integer(true, &[7, 8, 9]);
    builder.bytes(b"a few bytes");
    builder.bytes(&[7; 1000]);
    builder.map(2);
    builder.atom(mote_vm::base::atom::Atom::new("key"));
    builder.list(2);
    assert!(builder.integer(1) && builder.integer(2));
    builder.bytes(b"tail");
    assert!(builder.integer(3));
    builder.empty_list();
    builder.foreign(foreign(&Tap::new()));
}

/// A machine with a bit of everything: actors in a circle and alike, values of each kind, events in two sponsors, timers.
fn busy() -> (Rig, Vec<Key>) {
    let rig = rig();
    let hold = |key| rig.machine.hold(key).expect("ours");
    let keeper = rig.create("keeps", 2, |b| {
        b.empty_list();
        anything(b);
    });
    // Only one sends to it: so what it keeps has an order.
    let told = rig.create("keeps", 2, |b| {
        b.empty_list();
        b.empty_list();
    });
    let teller = rig.create_on("other", "tells", 1, |b| b.address(hold(told)));
    let mute = rig.create("mute", 0, |_| ());
    let has = rig.create("has", 3, |b| {
        b.bytes(b"a");
        b.address(hold(mute));
        b.empty_list();
    });
    let circle = rig.create("keeps", 2, |b| {
        b.list(1);
        b.address(hold(teller));
        b.empty_list();
        b.on();
        b.atom(mote_vm::base::atom::Atom::new("other"));
        b.address(hold(mute));
    });
    rig.machine.pause();
    for n in 1..=3 {
        rig.send(keeper, integers(&[n]));
        rig.send_by("other", teller, integers(&[10 * n, n]));
    }
    let mut message = Builder::new();
    message.address(hold(circle));
    rig.send(keeper, message.finish());
    let timer = |n| {
        let armed = rig.machine.send_after(500, keeper, None, integers(&[n]));
        armed.expect("room")
    };
    let cancelled = timer(499);
    let mut message = Builder::new();
    message.timer(timer(500));
    // In the place of the one that was before the other.
    rig.machine.cancel_timer(cancelled);
    timer(501);
    rig.send(circle, message.finish());
    (rig, vec![keeper, teller, circle, told, has])
}

fn described(rig: &Rig, keys: &[Key]) -> Vec<Vec<String>> {
    keys.iter().map(|key| rig.captures(*key)).collect()
}

#[test]
fn a_machine_goes_on_as_the_other_one_would_have() {
    let (one, named) = busy();
    let (image, tables) = taken(&one, &named);
    assert_eq!(tables.counts[2..], [6, 8, 2, 0]);
    let (other, found) = restored(image);
    let both = [(&one, &named), (&other, &found)];
    one.machine.resume();
    let seen = both.map(|(rig, keys)| {
        rig.quiet();
        described(rig, keys)
    });
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0][0][0], "[address | [3 | [2 | [1 | []]]]]");
    assert_eq!(seen[0][3][0], "[{30, 3} | [{20, 2} | [{10, 1} | []]]]");
    let seen = both.map(|(rig, keys)| {
        while rig.machine.step_clock(600, mote_vm::machine::Quiet::Whole) == Some(true) {
            rig.quiet();
        }
        rig.quiet();
        described(rig, keys)
    });
    assert!(
        seen[0][0][0].starts_with("[501 | [500 |"),
        "{}",
        seen[0][0][0]
    );
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn actors_that_nothing_leads_to_are_left_out_and_lost_values_are_listed() {
    let rig = rig();
    let tap = Tap::new();
    let forgotten = rig.create("mute", 0, |_| ());
    let keeper = rig.create("keeps", 2, |b| {
        b.empty_list();
        b.foreign(foreign(&tap));
    });
    let (image, tables) = taken(&rig, &[keeper]);
    assert_eq!(tables.counts[2], 1);
    let [(lost, 1)] = tables.losses()[..] else {
        panic!("{:?}", tables.lost);
    };
    assert_eq!(tables.traces, [(0, b"it".to_vec())]);
    assert_eq!(lost.class, Class::Pid);
    assert_eq!(lost.behaviour.map(|name| name.name.name()), Some("keeps"));
    assert_eq!(
        ImageFile::read(image, &|_| Ok(()))
            .expect("good")
            .tables
            .lost,
        tables.lost
    );
    rig.machine.release(forgotten);
}

#[test]
fn with_an_identity_keys_of_an_earlier_life_lead_to_their_actors_and_others_do_not() {
    let (one, named) = busy();
    let unnamed = one.create("mute", 0, |_| ());
    let (image, tables) = taken_with_keys(&one, &named[..1]);
    assert_eq!(tables.identity, identity());
    // The actor that is not named as well, and one that only another actor has is there, but has no key.
    assert_eq!(tables.counts[5], 7);
    let later = one.create("mute", 0, |_| ());
    one.machine.resume();
    one.quiet();
    let mut before = described(&one, &named);
    let mut image = image;
    let mut lives = Vec::new();
    for _ in 0..3 {
        // Sponsors have other numbers here.
        let sponsors = [("new", 1), ("other", 1), ("main", 1)];
        let rig = Rig::by(ClockKind::Manual, &sponsors, unit());
        let found = go_on_with(&rig.machine, image, true).expect("a good image");
        rig.quiet();
        assert_eq!(found, named[..1]);
        assert_eq!(described(&rig, &named), before);
        assert!(rig.machine.hold(unnamed).is_some());
        assert!(rig.machine.hold(later).is_none());
        let guessed = |serial| Key { serial, ..unnamed };
        assert!(rig.machine.hold(guessed(unnamed.serial ^ 1)).is_none());
        let another = rig.create("mute", 0, |_| ());
        assert!(![unnamed, later].contains(&another) && !named.contains(&another));
        rig.send(named[3], integers(&[5]));
        rig.quiet();
        before[3] = described(&rig, &named[3..4]).remove(0);
        rig.machine.release(another);
        image = taken_with_keys(&rig, &found).0;
        found.iter().for_each(|key| rig.machine.release(*key));
        lives.push(rig);
    }
    let rig = &lives[2];
    assert!(rig.machine.retain(unnamed, true) && rig.machine.retain(unnamed, false));
    assert!(!rig.machine.retain(unnamed, false));
    assert!(rig.machine.hold(unnamed).is_none());
    assert!(!rig.machine.retain(later, true));
    let new = rig.create("mute", 0, |_| ());
    assert!(rig.machine.retain(new, true) && rig.machine.retain(new, true));
    rig.machine.release(new);
    assert!(rig.machine.hold(new).is_some());
    assert!(rig.machine.retain(new, false) && !rig.machine.retain(new, true));
    // Twice the same.
    let why = go_on_with(&rig.machine, image, true).expect_err("refused");
    let why = why.to_string();
    assert!(why.contains("two of the keys"), "{why}");
}

/// A value that does something when it is copied into a heap.
#[derive(Default)]
struct Copied(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Foreign for Copied {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn external_bytes(&self) -> usize {
        let act = self.0.lock().expect("nobody panics").take();
        act.into_iter().for_each(|act| act());
        0
    }
    fn compare(&self, _other: &dyn Foreign) -> Ordering {
        Ordering::Equal
    }
}

#[test]
fn a_key_that_goes_into_a_message_while_it_is_saved_is_saved() {
    let rig = rig();
    let [keeper, sent] = [(); 2].map(|()| {
        rig.create("keeps", 2, |b| {
            b.empty_list();
            b.empty_list();
        })
    });
    // Timers are looked at after what has come in.
    let copied = Arc::new(Copied::default());
    let mut message = Builder::new();
    message.foreign(copied.clone());
    let armed = rig.machine.send_after(500, keeper, None, message.finish());
    armed.expect("room");
    let names = named(&rig, &[keeper]);
    let machine = rig.machine.clone();
    let act = move || {
        let mut message = Builder::new();
        message.address(machine.hold(sent).expect("ours"));
        machine.send(keeper, None, message.finish()).expect("room");
        machine.release(sent);
    };
    *copied.0.lock().expect("nobody panics") = Some(Box::new(act));
    let (image, tables) = save(&rig, names, identity()).expect("an image");
    assert!(copied.0.lock().expect("nobody panics").is_none());
    // The message came after the moment of the image.
    let [.., events, timers, keys] = tables.counts;
    assert_eq!([events, timers, keys], [0, 1, 2]);
    let other = self::rig();
    go_on_with(&other.machine, image, true).expect("a good image");
    assert!(other.machine.hold(sent).is_some());
}

#[test]
fn without_its_identity_a_machine_goes_on_and_knows_no_keys() {
    let (one, named) = busy();
    let (image, _) = taken_with_keys(&one, &named);
    let (other, found) = restored(image);
    assert!(named.iter().all(|key| other.machine.hold(*key).is_none()));
    assert_eq!(found.len(), named.len());
}

#[test]
fn what_was_lost_is_what_it_was_resolved_to() {
    let one = rig();
    let keeper = one.create("keeps", 2, |b| {
        b.list(3);
        (0..3).for_each(|_| b.foreign(foreign(&Tap::new())));
        b.empty_list();
        b.empty_list();
    });
    let (image, tables) = taken(&one, &[keeper]);
    assert_eq!(tables.traces.len(), 3);
    let rig = rig();
    let file = ImageFile::read(image, &|_| Ok(())).expect("a good image");
    let restore = |numbers: &[u32], values: Parcel| {
        let names = |names: Term<'_>| keys(&rig.machine, names);
        let resolved = (numbers, values);
        rig.machine
            .restore(&file, false, resolved, &lost, None, names)
    };
    let found = restore(&[2, 0], tuple(&["last", "first"])).expect("goes on");
    let text = &described(&rig, &found)[0][0];
    // From the last one on, as they were written.
    assert_eq!(text, "[:first | [foreign | [:last | []]]]");
    // As many as there are numbers.
    assert!(restore(&[2, 0], tuple(&["last"])).is_err());
}

#[test]
fn a_list_of_a_million_and_one_as_deep_are_saved() {
    let rig = rig();
    let n = 1_000_000;
    let keeper = rig.create("keeps", 2, |b| {
        b.list(n);
        (0..n).for_each(|i| assert!(b.integer(i as i64)));
        b.empty_list();
        (0..n).for_each(|_| b.tuple(1));
        assert!(b.integer(7));
    });
    let (image, tables) = taken(&rig, &[keeper]);
    // The tuple of the names is a cell as well.
    assert_eq!(tables.counts[0], 2 * n as u64 + 1);
    let (other, keys) = restored(image);
    let (_, again) = taken(&other, &keys);
    assert_eq!(again.counts, tables.counts);
}

#[test]
fn a_machine_without_memory_for_it_says_so_and_forgets_it() {
    let rig = rig();
    let keeper = rig.create("keeps", 2, |b| {
        b.list(500_000);
        (0..500_000).for_each(|i| assert!(b.integer(i)));
        b.empty_list();
        b.empty_list();
    });
    let (image, _) = taken(&rig, &[keeper]);
    let small = machine_under(stress(), 5 << 20, ClockKind::Manual, &SPONSORS).0;
    small.load(&encode(&unit()), &|_, _| None).expect("loads");
    assert_eq!(go_on(&small, image), Err(ImageError::NoMemory));
    let charged = small.info().charged_bytes;
    assert!(charged < 5 << 20, "{charged}");
    small.stop();
    small.join();
}

#[test]
fn what_a_machine_lacks_is_named() {
    let (one, named) = busy();
    let (image, _) = taken(&one, &named);
    let refusal = |sponsors: &[(&str, usize)], load: bool| {
        let machine = machine_by(ClockKind::Manual, sponsors).0;
        if load {
            machine.load(&encode(&unit()), &|_, _| None).expect("loads");
        }
        let refused = go_on(&machine, image.clone()).expect_err("refused");
        machine.stop();
        machine.join();
        refused.to_string()
    };
    let missing = refusal(&[("main", 1)], true);
    assert!(missing.ends_with("does not have: :other"), "{missing}");
    let missing = refusal(&SPONSORS, false);
    assert!(
        missing.contains("Test.keeps/2") && missing.ends_with("is not loaded"),
        "{missing}"
    );
}

// ---------------------------------------------------------------------------------------------------------------
// Changed images

/// The same as xorshift64*.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

/// Where the one block of a small image has its checksum, and where its bytes begin.
const SUM: usize = 24;
const BYTES: usize = 32;

/// The checksum of the first block, by the text of blocks.rs and not by its code.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| {
        (sum ^ word)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
    };
    let mut lanes = [mix(0, 1), mix(0, 2), mix(0, 3), mix(0, 4)];
    let whole = bytes.len() / 32 * 32;
    for (i, word) in bytes[..whole].chunks(8).enumerate() {
        lanes[i % 4] = mix(lanes[i % 4], u64::from_le_bytes(word.try_into().unwrap()));
    }
    let rest = bytes[whole..]
        .iter()
        .fold(bytes.len() as u64, |sum, byte| mix(sum, (*byte).into()));
    lanes.iter().fold(rest, |sum, lane| mix(sum, *lane))
}

/// Changes an image somewhere, mostly in a way that leaves its length and its parts where they are.
fn change(image: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..1 + dice.below(4) {
        let at = BYTES + dice.below(image.len() - BYTES);
        match dice.below(8) {
            0 => image[at] = dice.below(256) as u8,
            1 => image[at] ^= 1 << dice.below(8),
            2 => image[at] = image[at].wrapping_add(1),
            3 => image[at] = image[at].wrapping_sub(1),
            4 => image[at] = [0, 1, 0x7F, 0x80, 0xFF][dice.below(5)],
            5 => {
                let from = BYTES + dice.below(image.len() - BYTES);
                let n = 1 + dice.below(16.min(image.len() - from.max(at)));
                image.copy_within(from..from + n, at);
            }
            6 => {
                let from = BYTES + dice.below(image.len() - BYTES);
                image.swap(at, from);
            }
            _ => {
                image.remove(at);
            }
        }
    }
}

fn seal(image: &mut [u8]) {
    let length = (image.len() - BYTES) as u64;
    image[SUM - 8..SUM].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(&image[BYTES..]);
    image[SUM..BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// A machine that has gone on from an image, whatever that was: it runs, can be looked through, collects, and is saved again.
fn is_sound(machine: &Machine, keys: &[Key]) {
    while machine.step_clock(1 << 40, mote_vm::machine::Quiet::Whole) == Some(true) {
        quiet(machine);
    }
    quiet(machine);
    let (tell, told) = channel();
    machine.collect(move || tell.send(()).expect("heard"));
    told.recv_timeout(PATIENCE).expect("collected");
    for key in keys {
        let (tell, told) = channel();
        let look = move |_: &Machine, seen: mote_vm::machine::Inspection<'_>| {
            let shown: Vec<String> = seen.captures.into_iter().map(show).collect();
            let _ = tell.send(shown);
        };
        assert!(machine.inspect(*key, Box::new(look)));
        told.recv_timeout(PATIENCE).expect("looked");
    }
}

/// An image with these records, which make that many cells and captures, and `actors` actors; the last cell is named.
fn handmade(records: &[u8], [cells, captures, actors]: [u8; 3]) -> Vec<u8> {
    let mut bytes = records.to_vec();
    bytes.push(0);
    let roots = bytes.len() as u64;
    // The last cell; `nil` where there is none.
    bytes.push(if cells > 0 { 2 } else { 1 });
    let tables = bytes.len() as u64;
    // The time, the counts, no identity and no lives, one atom, no code, no sponsors, no behaviours, nothing lost and no traces.
    bytes.extend([0, cells, captures, actors, 0, 0, 0, 0, 0, 1, 3]);
    bytes.extend(b"nil\0\0\0\0\0");
    bytes.extend(roots.to_le_bytes());
    bytes.extend(tables.to_le_bytes());
    let mut image = b"MOTE\0img\x02\0\0\0\0\0\0\0".to_vec();
    image.extend([0; BYTES - 16]);
    image.extend(bytes);
    seal(&mut image);
    image
}

/// Records of tuples, each of twice the one before: small, and without end when written out.
fn doubling(n: usize) -> Vec<u8> {
    let mut records = vec![2, 0];
    (1..n).for_each(|_| records.extend([2, 2, 2, 2]));
    records
}

#[test]
fn each_thing_that_is_wrong_is_named() {
    let rig = rig();
    let refused = |image: Vec<u8>| go_on(&rig.machine, image).expect_err("refused").to_string();
    // A tuple of `[]`, and an actor that ignores everything.
    assert_eq!(
        go_on(&rig.machine, handmade(&[2, 1, 4], [1, 0, 0])),
        Ok(vec![])
    );
    assert_eq!(
        go_on(&rig.machine, handmade(&[2, 1, 3, 13, 0, 0], [1, 0, 1])).map(|keys| keys.len()),
        Ok(1)
    );
    let nan = [&[3][..], &f64::NAN.to_bits().to_le_bytes()].concat();
    let no_digit = [&[5, 0, 1][..], &[0; 8]].concat();
    for (records, counts, problem) in [
        (
            &[2, 1, 2][..],
            [1, 0, 0],
            "at byte 34: a value refers to something that is not there",
        ),
        (
            &[2, 1, 3],
            [1, 0, 0],
            "at byte 34: a value refers to something that is not there",
        ),
        (
            &[2, 1, 9],
            [1, 0, 0],
            "at byte 34: a value refers to something that is not there",
        ),
        (
            &[2, 1, 0x24],
            [1, 0, 0],
            "at byte 34: a value refers to something that is not there",
        ),
        (&[1, 200, 1, 4], [1, 0, 0], "number of values"),
        (
            &nan,
            [1, 0, 0],
            "at byte 33: a float is not a finite number",
        ),
        (
            &no_digit,
            [1, 0, 0],
            "at byte 33: a large integer has no highest digit",
        ),
        (
            &[6, 0, 1, 9],
            [1, 0, 0],
            "at byte 33: a value of the outside cannot be read",
        ),
        (
            &[7, 77],
            [1, 0, 0],
            "at byte 33: a value was lost that the tables do not have",
        ),
        (
            &[8, 1, 1],
            [1, 0, 0],
            "a reference with a sponsor has an atom and an address",
        ),
        (
            &[9, 1],
            [1, 0, 0],
            "a reference is to a timer that the tables do not have",
        ),
        (
            &[4, 2, 7, 7, 11, 2, 1, 2],
            [2, 0, 0],
            "a part of a binary goes beyond its end",
        ),
        (
            &[2, 0, 11, 2, 0, 0],
            [2, 0, 0],
            "a part is of something else than a binary",
        ),
        (
            &[12, 1, 4],
            [0, 1, 0],
            "there are no 1 captures that actors share",
        ),
        (
            &[13, 0, 0],
            [0, 0, 0],
            "there are more actors than the tables say",
        ),
        (
            &[13, 2, 0],
            [0, 0, 1],
            "an actor has a behaviour that the tables do not have",
        ),
        (
            &[13, 0, 1],
            [0, 0, 1],
            "an actor is pinned to a sponsor that the tables do not have",
        ),
        (
            &[14, 0, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            [1, 0, 0],
            "a function has the names of its module and its own",
        ),
        (
            &[15],
            [0, 0, 0],
            "at byte 33: a bitstring has bits of a binary, and not whole bytes",
        ),
        (
            &[16],
            [0, 0, 0],
            "at byte 32: there is no such kind of record",
        ),
        (
            &[2, 0],
            [2, 0, 0],
            "the cells and actors are not as many as the tables say",
        ),
        (
            &[],
            [0, 0, 1],
            "the cells and actors are not as many as the tables say",
        ),
        (
            &[10, 2, 4, 4, 4, 4],
            [1, 0, 0],
            "at byte 33: of the 2 keys of a map, some are equal",
        ),
        (
            &doubling(100),
            [100, 0, 0],
            "what is named is larger, written out, than all that the machine holds",
        ),
    ] {
        let found = refused(handmade(records, counts));
        assert!(found.contains(problem), "{records:?}: {found}");
    }
    // The same list twice, and four thousand keys with the one or the other: to sort these takes as long as a gigabyte of others.
    let (n, keys) = (30_000, 4_000);
    let varint = |n: usize| [n as u8 | 0x80, (n >> 7) as u8 | 0x80, (n >> 14) as u8];
    let list = [&[1][..], &varint(n), &[4], &vec![0; n]].concat();
    let mut records = [&list[..], &list].concat();
    for (key, written) in (0..keys).zip(2 * n..) {
        // From the end of the one list, or of the other.
        let list = varint((written - n * (1 + key % 2)) << 3 | 2);
        records.extend([&[2, 2][..], &list, &varint((keys - key) << 4)].concat());
    }
    records.push(10);
    records.extend(varint(keys));
    (0..keys).for_each(|key| records.extend([&varint(key << 3 | 2)[..], &[4]].concat()));
    let found = refused(handmade(&records, [0, 0, 0]));
    assert!(
        found.contains("the keys of a map take too long to be compared"),
        "{found}"
    );
}

#[test]
fn an_image_makes_no_atoms_that_are_not_admitted_and_none_has_too_many() {
    let (one, keys) = busy();
    let (image, _) = taken(&one, &keys);
    let named: AdmitAtoms<'_> = &|names| {
        // Those of its code as well.
        let all = ["key", "main", "other", "Test", "mute"].map(str::to_string);
        assert!(all.iter().all(|name| names.contains(name)), "{names:?}");
        Err("too many".to_string())
    };
    let refused = ImageFile::read(image, named).err();
    let text = refused.expect("refused").to_string();
    assert!(text.ends_with(": too many"), "{text}");
    let most = 1 << 17;
    let with_atoms = |n: usize| {
        let mut builder = Builder::new();
        builder.tuple(1);
        builder.tuple(n);
        let atom = |i| mote_vm::base::atom::Atom::new(&format!("one_of_many_{i}"));
        (0..n).for_each(|i| builder.atom(atom(i)));
        save(&one, builder.finish(), None)
    };
    let (image, tables) = with_atoms(most - 100).expect("an image");
    let again = ImageFile::read(image, &|_| Ok(())).expect("a good image");
    assert_eq!(again.tables.counts, tables.counts);
    let why = with_atoms(most).err();
    assert!(
        matches!(why, Some(NotSaved::TooManyAtoms(n)) if n > most),
        "{why:?}"
    );
}

#[test]
fn no_image_harms_a_machine() {
    let (one, named) = busy();
    let (image, _) = taken_with_keys(&one, &named);
    drop(one);
    let start = || -> (Machine, World) {
        let started = machine_under(stress(), 64 << 20, ClockKind::Manual, &SPONSORS);
        started
            .0
            .load(&encode(&unit()), &|_, _| None)
            .expect("loads");
        started
    };
    let mut dice = Dice(0x5EED);
    let mut machine = start();
    let (mut went_on, mut refused, mut said) = (0, 0, BTreeSet::new());
    for round in 0..if long() { 10_000_000 } else { 12_000 } {
        let mut changed = image.clone();
        change(&mut changed, &mut dice);
        if round % 2 == 0 {
            seal(&mut changed);
        }
        let keep = round % 4 < 2;
        match go_on_with(&machine.0, changed, keep) {
            Err(why) => {
                // One that got far has left it paused.
                machine.0.resume();
                refused += 1;
                said.insert(
                    why.to_string()
                        .split(": ")
                        .last()
                        .unwrap_or_default()
                        .to_string(),
                );
            }
            Ok(keys) => {
                went_on += 1;
                is_sound(&machine.0, &keys);
                assert!(machine.1.faults.try_recv().is_err());
                keys.into_iter().for_each(|key| machine.0.release(key));
                // The next one has the same keys.
                if keep || went_on % 100 == 0 {
                    machine.0.stop();
                    machine.0.join();
                    machine = start();
                }
            }
        }
    }
    machine.0.stop();
    machine.0.join();
    // It got as far as the actors.
    let captures = "an actor has other captures than the 3 of its behaviour";
    assert!(said.contains(captures), "{said:#?}");
    assert!(
        went_on > 50 && refused > 1_000,
        "{went_on} went on, {refused} were refused"
    );
}
