//! Images that are refused: for want of something, or since nobody has written them. Each thing that is wrong is named, and none harms a
//! machine, whatever is in it. What reads them is the same for each tier, so they are read without a compiler only.

use crate::encode::encode;
use crate::image::{busy, go_on, go_on_with, rig, save, taken, taken_with_keys, unit, SPONSORS};
use crate::rig::{long, quiet, PATIENCE};
use crate::world::{machine_by, machine_under, show, stress, World};
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::Builder;
use mote_vm::image::file::ImageFile;
use mote_vm::image::save::NotSaved;
use mote_vm::image::tables::AdmitAtoms;
use mote_vm::image::ImageError;
use mote_vm::machine::Machine;
use mote_vm::values::handles::Key;
use std::collections::BTreeSet;
use std::sync::mpsc::channel;

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
