//! Images that are written beside turns: each is, byte for byte, the one that is written of the same moment while the machine stands
//! still.
//!
//! While an image is written it asks what each foreign value is. Here it waits in that question until turns have run, so what was
//! there at the moment is not there any more: the tests depend on no chance.

use crate::build::{becomes, cons, create, op, send, send_after, tuple};
use crate::encode::encode;
use crate::programs::{r, Assembler};
use crate::rig::{address, foreign, int, integers, quiet, until, Rig, Tap, PATIENCE};
use crate::world::machine_under;
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::heap::pace::Stress;
use mote_vm::image::file::ImageFile;
use mote_vm::image::save::NotSaved;
use mote_vm::image::tables::{ImageIdentity, ImageTables};
use mote_vm::image::walk::WrittenForeign;
use mote_vm::machine::durable::{journal_path, JournalFile};
use mote_vm::machine::{Machine, Quiet};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::ForeignRef;
use mote_vm::values::handles::Key;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::Mutex;

/// `tick(next, n, mark)`: sends itself what comes, makes what nobody needs, and becomes `tick(next, n + 1, mark)`. `grow(next, last)`:
/// sends itself what comes, and becomes `grow(next, new)` with a new `hold(last)`, of which it lets go with the next one. `hold(x)` does nothing.
/// `arms(to)`: n: sends `{n, n}` there after n milliseconds.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let one = a.int(1);
    let hold = a.behaviour_used("hold", 1);
    a.behaviour("hold", 1, 2, vec![Instr::Ignore]);
    let tick = a.behaviour_used("tick", 3);
    let code = vec![
        Instr::SelfAddress { dst: 4 },
        send(r(4), r(3)),
        op(5, Primitive::Add, [r(1), one]),
        cons(6, r(3), r(0)),
        tuple(7, [r(6), r(5), r(3)]),
        create(8, hold, [r(7)]),
        becomes(tick, [r(0), r(5), r(2)]),
        Instr::Done,
    ];
    a.behaviour("tick", 3, 9, code);
    let grow = a.behaviour_used("grow", 2);
    let code = vec![
        Instr::SelfAddress { dst: 3 },
        send(r(3), r(2)),
        create(4, hold, [r(2)]),
        becomes(grow, [r(0), r(4)]),
        Instr::Done,
    ];
    a.behaviour("grow", 2, 5, code);
    let code = vec![
        tuple(2, [r(1), r(1)]),
        send_after(3, r(1), r(0), r(2)),
        Instr::Done,
    ];
    a.behaviour("arms", 1, 4, code);
    a.unit()
}

/// An image, or why there is none, and whether it was written beside turns.
type Saved = (Result<(Vec<u8>, ImageTables), NotSaved>, bool);

fn identity() -> Option<ImageIdentity> {
    Some(ImageIdentity {
        name: "beside".to_string(),
        lives: vec![vec![1; 20]],
    })
}

/// Saves it, and asks `seen` about each foreign value meanwhile. Also returns the image of the same moment that is written while it stands
/// still.
fn save(
    machine: &Machine,
    names: Parcel,
    identity: Option<ImageIdentity>,
    seen: impl Fn(&ForeignRef) + Send + 'static,
) -> (Vec<u8>, Saved) {
    save_with(machine, names, identity, None, || (), seen)
}

/// The same, with a journal that begins at that moment, and what is done beside turns before anything is written.
fn save_with(
    machine: &Machine,
    names: Parcel,
    identity: Option<ImageIdentity>,
    journal: Option<(PathBuf, u64)>,
    first: impl FnOnce() + Send + 'static,
    seen: impl Fn(&ForeignRef) + Send + 'static,
) -> (Vec<u8>, Saved) {
    let begins = journal.is_some();
    let trace = || WrittenForeign::Trace(b"it".to_vec());
    let (tell, told) = channel();
    let note = move |survey: &mut mote_vm::look::survey::Survey<'_>| {
        if let Some((path, number)) = journal {
            let begun = survey.begin_journal(&path, number, Default::default(), Default::default());
            begun.expect("a journal");
        }
        let mut still = Vec::new();
        let mut take = |block: Vec<u8>| {
            still.extend(block);
            Some(Vec::new())
        };
        let roots = survey.image_roots(&names, identity.clone());
        let saved = survey.save(&names, identity, &|_| trace(), &mut take);
        saved.expect("an image");
        (still, roots)
    };
    let walk = move |(still, roots): (Vec<u8>, Result<mote_vm::image::save::ImageRoots, _>)| {
        first();
        let roots = roots.expect("roots");
        let beside = roots.is_written_beside();
        let mut bytes = Vec::new();
        let mut take = |block: Vec<u8>| {
            bytes.extend(block);
            Some(Vec::new())
        };
        let form = |value: &ForeignRef| {
            seen(value);
            trace()
        };
        let saved = roots.write(&form, &mut take);
        let _ = tell.send((still, (saved.map(|tables| (bytes, tables)), beside)));
    };
    machine.at_moment(begins, note, walk).expect("a thread");
    told.recv_timeout(PATIENCE).expect("saved")
}

/// Saves it as above, and returns the image, which is the one of the standing machine.
fn save_alike(
    machine: &Machine,
    names: Parcel,
    seen: impl Fn(&ForeignRef) + Send + 'static,
) -> (Vec<u8>, ImageTables) {
    let (still, (saved, beside)) = save(machine, names, identity(), seen);
    let (bytes, tables) = saved.expect("an image");
    assert!(beside && bytes == still, "another image than of the moment");
    (bytes, tables)
}

fn named(rig: &Rig, actors: &[Key]) -> Parcel {
    let mut builder = Builder::new();
    builder.tuple(1);
    builder.tuple(actors.len());
    for key in actors {
        address(&rig.machine, &mut builder, *key);
    }
    builder.finish()
}

/// Makes a row of actors, each of which has the next one and a message that it sends itself for ever. Returns the first.
fn restless(rig: &Rig, n: usize) -> Key {
    let mut next = rig.create("hold", 1, |b| int(b, 0));
    for number in 0..n {
        let sponsor = if number % 3 == 0 { "other" } else { "main" };
        let link = |b: &mut Builder| address(&rig.machine, b, next);
        let key = match number % 4 {
            0 => rig.create_on(sponsor, "grow", 2, |b| {
                link(b);
                int(b, 0);
            }),
            _ => rig.create_on(sponsor, "tick", 3, |b| {
                link(b);
                int(b, 0);
                match number % 16 {
                    1 => b.foreign(foreign(&Tap::new())),
                    _ => b.bytes(b"some bytes"),
                }
            }),
        };
        rig.send_by(sponsor, key, integers(&[number as i64, 7]));
        rig.machine.release(next);
        next = key;
    }
    next
}

const ACTORS: usize = 200;

/// A machine whose time stands still: two images of one moment have the same.
fn rig(stress: Stress, memory: usize, sponsors: &[(&str, usize)]) -> Rig {
    rig_on(ClockKind::Manual, stress, memory, sponsors)
}

fn rig_on(clock: ClockKind, stress: Stress, memory: usize, sponsors: &[(&str, usize)]) -> Rig {
    let (machine, world) = machine_under(stress, memory, clock, sponsors);
    let loaded = machine.load(&encode(&unit()), &|_, _| None);
    loaded.expect("loads");
    Rig {
        machine,
        world: Mutex::new(world),
    }
}

/// What happens meanwhile: so many turns, whatever else is going on.
fn turns_run(machine: &Machine, n: u64) {
    let turns = || machine.info().counts().turns;
    let before = turns();
    until(|| turns() >= before + n);
}

fn all_ways() -> impl Iterator<Item = (usize, Stress)> {
    let stresses = [
        Stress::Off,
        Stress::Running,
        Stress::Standing,
        Stress::Moving,
    ];
    let threads = [1, 3].into_iter();
    threads.flat_map(move |threads| stresses.map(|stress| (threads, stress)))
}

#[test]
fn it_is_of_its_moment_whatever_happens_meanwhile() {
    for (threads, stress) in all_ways() {
        let sponsors = [("main", threads), ("other", 1)];
        let rig = rig(stress, usize::MAX, &sponsors);
        let first = restless(&rig, ACTORS);
        let timer = rig.machine.send_after(1 << 40, first, None, integers(&[5]));
        let timer = timer.expect("room");
        for round in 0..3 {
            let machine = rig.machine.clone();
            let seen = move |_: &ForeignRef| {
                turns_run(&machine, 2 * ACTORS as u64);
                machine.collect(|| ());
                machine.cancel_timer(timer);
                let sent = machine.send(first, None, integers(&[1, 2]));
                sent.expect("room");
            };
            let (image, tables) = save_alike(&rig.machine, named(&rig, &[first]), seen);
            assert_eq!(tables.counts[4], u64::from(round == 0));
            // The ones that they send themselves, and those from outside, which they send themselves from then on.
            let sent = ACTORS.div_ceil(16) * round;
            assert_eq!(
                tables.counts[3] as usize,
                ACTORS + sent,
                "{threads}, {stress:?}"
            );
            assert!(ImageFile::read(image, &|_| Ok(())).is_ok());
        }
    }
}

/// Nobody waits: it is written as fast as it can be, beside turns as fast as they can be.
#[test]
fn it_is_of_its_moment_at_any_speed() {
    for (threads, stress) in all_ways() {
        let sponsors = [("main", threads), ("other", 1)];
        let rig = rig(stress, usize::MAX, &sponsors);
        let first = restless(&rig, 10 * ACTORS);
        for _ in 0..10 {
            save_alike(&rig.machine, named(&rig, &[first]), |_| ());
        }
    }
}

/// Lets that many milliseconds pass.
fn pass(machine: &Machine, milliseconds: u64) {
    let limit = machine.now() + milliseconds;
    let step = || machine.step_clock(limit, Quiet::Whole);
    until(|| step().expect("a manual clock") || machine.now() == limit);
    while step() == Some(true) {
        quiet(machine);
    }
}

/// Timers are read when turns go on, and a part of them has fired before, or fires meanwhile. Others are cancelled or armed, and their
/// sponsor goes.
#[test]
fn it_has_the_timers_of_its_moment_wherever_they_have_gone() {
    const MANY: i64 = 3_000;
    let ways =
        all_ways().flat_map(|(threads, stress)| [false, true].map(|now| (threads, stress, now)));
    for (threads, stress, meanwhile) in ways {
        let rig = rig(stress, usize::MAX, &[("main", threads), ("other", 1)]);
        let hold = rig.create("hold", 1, |b| int(b, 0));
        let arms = ["main", "other"].map(|sponsor| {
            let to = |b: &mut Builder| address(&rig.machine, b, hold);
            (sponsor, rig.create_on(sponsor, "arms", 1, to))
        });
        let machine = rig.machine.clone();
        let outside = move |n| {
            let message = integers(&[n, 7]);
            machine
                .send_after(n as u64, hold, None, message)
                .expect("room")
        };
        for n in 1..=MANY {
            arms.iter()
                .for_each(|(sponsor, key)| rig.send_by(sponsor, *key, integers(&[n])));
        }
        let ids: Vec<_> = (1..=MANY).map(&outside).collect();
        quiet(&rig.machine);
        let names = [hold, arms[0].1];
        for round in 0..3 {
            let (machine, outside, ids) = (rig.machine.clone(), outside.clone(), ids.clone());
            let act = move || {
                pass(&machine, MANY as u64 / 4);
                for id in ids.iter().skip(round).step_by(4) {
                    machine.cancel_timer(*id);
                }
                for n in 1..100 {
                    outside(n);
                }
                if round == 1 {
                    machine.remove_sponsor(Atom::new("other")).expect("removed");
                }
            };
            let (end, ended) = channel::<()>();
            let first = move || match meanwhile {
                true => drop(std::thread::spawn(move || (act(), drop(end)))),
                false => act(),
            };
            let waiting = rig.machine.info().counts().timers;
            let named = named(&rig, &names);
            let (still, (saved, beside)) =
                save_with(&rig.machine, named, identity(), None, first, |_| ());
            let (bytes, tables) = saved.expect("an image");
            assert!(
                beside && bytes == still,
                "{threads}, {stress:?}, {meanwhile}, {round}"
            );
            assert_eq!(tables.counts[4], waiting);
            assert!(ended.recv_timeout(PATIENCE).is_err());
            quiet(&rig.machine);
        }
    }
}

/// Chunks of queues are kept, and are not copied.
#[test]
fn what_is_queued_is_in_it_once_and_in_order() {
    let rig = rig(Stress::Off, usize::MAX, &[("main", 1), ("other", 1)]);
    let mark = rig.create("hold", 1, |b| b.foreign(foreign(&Tap::new())));
    let first = rig.create("hold", 1, |b| address(&rig.machine, b, mark));
    rig.machine.pause();
    const MANY: i64 = 20_000;
    for n in 0..MANY {
        rig.send(first, integers(&[n, -n]));
    }
    let machine = rig.machine.clone();
    let seen = move |_: &ForeignRef| {
        machine.resume();
        quiet(&machine);
    };
    let (_, tables) = save_alike(&rig.machine, named(&rig, &[first]), seen);
    assert_eq!(tables.counts[3], MANY as u64);
}

/// The second one comes when the first is written.
#[test]
fn images_that_are_asked_for_at_once_come_one_after_the_other() {
    let rig = rig(Stress::Off, usize::MAX, &[("main", 2), ("other", 1)]);
    let first = restless(&rig, ACTORS);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let machine = rig.machine.clone();
                let seen = move |_: &ForeignRef| turns_run(&machine, ACTORS as u64);
                save_alike(&rig.machine, named(&rig, &[first]), seen);
            });
        }
    });
}

/// A machine whose memory is short holds its turns until the image is written, and goes on then.
#[test]
fn a_machine_without_memory_for_what_is_kept_stands_still() {
    const MEMORY: usize = 24 << 20;
    let rig = rig(Stress::Off, MEMORY, &[("main", 1), ("other", 1)]);
    let first = restless(&rig, ACTORS);
    // Nothing is freed meanwhile, so it is short a moment later at the latest; or next time.
    until(|| {
        let machine = rig.machine.clone();
        let seen =
            move |_: &ForeignRef| until(|| machine.info().charged_bytes > MEMORY - (6 << 20));
        save_alike(&rig.machine, named(&rig, &[first]), seen);
        turns_run(&rig.machine, 1000);
        rig.machine.info().gc.longest_wait_ns > 0
    });
}

/// A machine that ends meanwhile waits for no image.
#[test]
fn a_machine_that_ends_meanwhile_ends() {
    let rig = rig(Stress::Off, usize::MAX, &[("main", 2), ("other", 1)]);
    let first = restless(&rig, 20 * ACTORS);
    let machine = rig.machine.clone();
    let seen = move |_: &ForeignRef| machine.stop();
    let (still, (saved, _)) = save(&rig.machine, named(&rig, &[first]), None, seen);
    assert_eq!(saved.map(drop), Err(NotSaved::Refused));
    assert!(!still.is_empty());
}

/// Turns of seeded machines have their order by where events lie in queues.
#[test]
fn a_seeded_machine_stands_still_for_it() {
    let rig = Rig::seeded(ClockKind::Manual, &[("main", 1), ("other", 1)], unit());
    let first = rig.create("hold", 1, |b| int(b, 0));
    let (still, (saved, beside)) = save(&rig.machine, named(&rig, &[first]), None, |_| ());
    let (bytes, _) = saved.expect("an image");
    assert!(!beside && bytes == still);
}

/// What comes into a durable machine, and is noted down.
fn send_noted(machine: &Machine, target: Key, record: &[u8]) {
    machine.noting(|notes| {
        let sent = machine.send(target, None, integers(&[1, 2]));
        sent.expect("room");
        notes.expect("durable").record(&[record]);
    });
    let (tell, told) = channel();
    machine.when_durable(Box::new(move || {
        let _ = tell.send(());
    }));
    told.recv_timeout(PATIENCE).expect("on the disk");
}

/// It stands still for the image that its first journal begins in, and for no other: turns run and messages are acknowledged while those
/// are written, and the next journal has them.
#[test]
fn a_durable_machine_goes_on_and_what_comes_in_meanwhile_is_in_the_next_journal() {
    for (_, stress) in all_ways().filter(|(threads, _)| *threads == 1) {
        let rig = rig_on(ClockKind::System, stress, usize::MAX, &[("main", 1)]);
        let machine = &rig.machine;
        let mark = rig.create("hold", 1, |b| b.foreign(foreign(&Tap::new())));
        let actors = (0..ACTORS).map(|n| {
            let link = |b: &mut Builder| address(machine, b, mark);
            let key = rig.create("tick", 3, |b| {
                link(b);
                int(b, n as i64);
                link(b);
            });
            rig.send(key, integers(&[n as i64, 7]));
            key
        });
        let actors: Vec<_> = actors.collect();
        let folder =
            std::env::temp_dir().join(format!("mote_beside_{}_{stress:?}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let journal = |number| journal_path(&folder, number);
        let (_, (saved, beside)) = save_with(
            machine,
            named(&rig, &actors),
            identity(),
            Some((journal(1), 1)),
            || (),
            |_| (),
        );
        assert!(saved.is_ok() && !beside);
        for number in 2..5 {
            let (running, target) = (machine.clone(), actors[0]);
            let record = format!("what comes in beside image {number}").into_bytes();
            let sent = record.clone();
            let seen = move |_: &ForeignRef| {
                turns_run(&running, 2 * ACTORS as u64);
                send_noted(&running, target, &sent);
                turns_run(&running, ACTORS as u64);
            };
            let (still, (saved, beside)) = save_with(
                machine,
                named(&rig, &actors),
                identity(),
                Some((journal(number), number)),
                || (),
                seen,
            );
            assert!(beside && saved.expect("an image").0 == still, "{stress:?}");
            for (of, has) in [(number - 1, false), (number, true)] {
                let path = journal(of);
                let bytes = std::fs::read(&path).expect("a file");
                let found = bytes.windows(record.len()).any(|part| part == record);
                assert_eq!(found, has, "{of}, {stress:?}");
                assert_eq!(JournalFile::open(&path).expect("whole").cut, None);
            }
        }
        rig.machine.stop();
        let _ = std::fs::remove_dir_all(&folder);
    }
}
