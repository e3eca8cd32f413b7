//! Images: a machine goes on from one as the other would have gone on, and no image harms a machine, whatever is in it.

use crate::build::{becomes, cons, send};
use crate::programs::{r, Assembler};
use crate::rig::{foreign, integers, Rig, Tap, PATIENCE};
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::image::file::ImageFile;
use mote_vm::image::save::NotSaved;
use mote_vm::image::tables::{ImageIdentity, ImageTables};
use mote_vm::image::walk::WrittenForeign;
use mote_vm::image::ImageError;
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Class, Foreign, ForeignRef};
use mote_vm::values::handles::Key;
use mote_vm::{Term, View};
use std::cmp::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// `keeps(list, other)` puts what comes into its list, `tells(other)` sends on what comes, and `mute()` and `has(a, b, c)`
/// ignore it.
pub(crate) fn unit() -> Unit {
    let mut a = Assembler::default();
    let keeps = a.behaviour_used("keeps", 2);
    let code = vec![
        cons(3, r(2), r(0)),
        becomes(keeps, [r(3), r(1)]),
        Instr::Done,
    ];
    a.behaviour("keeps", 2, 4, code);
    a.behaviour("tells", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    a.behaviour("has", 3, 4, vec![Instr::Ignore]);
    a.safe("mute", 0, 1, vec![Instr::Ignore]);
    a.unit()
}

pub(crate) const SPONSORS: [(&str, usize); 2] = [("main", 1), ("other", 1)];

pub(crate) fn rig() -> Rig {
    Rig::by(ClockKind::Manual, &SPONSORS, unit())
}

fn identity() -> Option<ImageIdentity> {
    Some(ImageIdentity {
        name: "market".to_string(),
        lives: vec![vec![1; 20], vec![2; 12]],
    })
}

pub(crate) fn save(
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

pub(crate) fn taken(rig: &Rig, actors: &[Key]) -> (Vec<u8>, ImageTables) {
    save(rig, named(rig, actors), None).expect("an image")
}

pub(crate) fn taken_with_keys(rig: &Rig, actors: &[Key]) -> (Vec<u8>, ImageTables) {
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

pub(crate) fn go_on(machine: &Machine, image: Vec<u8>) -> Result<Vec<Key>, ImageError> {
    go_on_with(machine, image, false)
}

pub(crate) fn go_on_with(
    machine: &Machine,
    image: Vec<u8>,
    keep: bool,
) -> Result<Vec<Key>, ImageError> {
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
pub(crate) fn busy() -> (Rig, Vec<Key>) {
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
