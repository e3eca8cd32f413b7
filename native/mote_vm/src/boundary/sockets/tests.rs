use super::datagrams::{self, head, HEAD};
use super::reading::{ReadSpec, CHUNK};
use super::record::SocketKind;
use super::seal::{Agreed, Seal, SealError, Sealed, Wire};
use super::transfer::{consume, end_input, end_output, read, write, write_later, ReadStep, VISIT};
use super::*;
use socket2::Socket;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::{UnixDatagram, UnixStream};

impl Sockets {
    pub(crate) fn for_tests() -> Sockets {
        let poller = Poller::new().expect("an event queue");
        Sockets::new(Arc::new(poller), Arc::default(), Arc::default())
    }
}

impl SocketRecord {
    pub(crate) fn for_tests(actor: *const Actor) -> SocketRecord {
        SocketRecord {
            actor,
            ..SocketRecord::new(pair().0, SocketKind::Connection, 0)
        }
    }
}

fn pair() -> (Socket, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    ours.set_nonblocking(true).expect("never waits");
    (std::os::fd::OwnedFd::from(ours).into(), theirs)
}

fn actor(n: usize) -> *const Actor {
    (n * 16) as *const Actor
}

/// Invariants 2 and 3.
#[test]
fn a_sweep_finds_what_no_collection_has_met() {
    let sockets = Sockets::for_tests();
    let add = |n: usize, born: u32, change: fn(&mut SocketRecord)| {
        let mut record = SocketRecord::for_tests(actor(n));
        record.born = born;
        change(&mut record);
        sockets.add(record).0
    };
    let nothing = |_: &mut SocketRecord| ();
    let live = add(1, 4, |record| record.session.set(actor(2)));
    let dead = add(2, 4, nothing);
    let _young = add(3, 5, nothing);
    let _listener = add(4, 4, |record| record.kind = SocketKind::Listener);
    let _read = add(5, 4, |record| record.reader = Value::address(actor(9)));
    let also_dead = add(6, 1, nothing);
    let mut steps = 0;
    while sockets.sweep(5, 2, &|met| met == actor(1)) {
        steps += 1;
        assert!(sockets.take_dead().is_empty(), "before the sweep is over");
    }
    assert!(steps >= 2);
    assert_eq!(sockets.take_dead(), [dead, also_dead]);
    assert!(sockets.take_dead().is_empty());
    // What was its session's place may be another actor's.
    let session = sockets.with(live, |record| record.session.get());
    assert_eq!(session, Some(std::ptr::null()));
}

/// Invariant 4.
#[test]
fn a_closed_socket_leads_nowhere() {
    let sockets = Sockets::for_tests();
    let (first, state) = sockets.add(SocketRecord::for_tests(actor(1)));
    assert_eq!(sockets.find(actor(1), state), Some(first));
    // The number that another thread had given.
    assert_eq!(sockets.find(actor(2), state), None);
    assert!(sockets.remove(first).is_some());
    assert_eq!(sockets.find(actor(1), state), None);
    let (second, other) = sockets.add(SocketRecord::for_tests(actor(2)));
    assert_eq!((first, sockets.find(actor(1), state)), (second, None));
    assert_eq!(sockets.find(actor(2), other), Some(second));
    assert_eq!(sockets.find(actor(2), Value::fixnum(-1)), None);
    assert_eq!(sockets.find(actor(2), Value::NIL), None);
}

/// What is taken out ahead of a walk is shown by it all the same.
#[test]
fn a_walk_shows_who_waited_when_it_began() {
    let sockets = Sockets::for_tests();
    for n in 1..=3 {
        let mut record = SocketRecord::for_tests(actor(n));
        record.reader = Value::address(actor(10 + n));
        sockets.add(record);
    }
    let mut shown = Vec::new();
    let mut walk = |most| {
        sockets.walk(most, &mut |value| {
            shown.push(value.address_pointer() as usize / 16)
        })
    };
    sockets.begin();
    // One place, and then what is changed ahead.
    walk(1);
    sockets.with(1, |record| record.reader = Value::NONE);
    drop(sockets.remove(2));
    while walk(1) {}
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown, [1, 2, 3, 11, 12, 13]);
}

#[test]
fn bytes_come_whole_and_the_quota_gets_all_back() {
    let quota = Arc::<Quota>::default();
    let (ours, mut theirs) = pair();
    let mut record = SocketRecord::new(ours, SocketKind::Connection, 0);
    let mut scratch = vec![MaybeUninit::uninit(); CHUNK];
    record.spec = ReadSpec::Line { max: 10, seen: 0 };
    assert!(matches!(
        read(&mut record, &mut scratch, CHUNK, &quota),
        ReadStep::Waits
    ));
    theirs.write_all(b"ab").expect("room");
    record.readable = true;
    assert!(matches!(
        read(&mut record, &mut scratch, CHUNK, &quota),
        ReadStep::Waits
    ));
    theirs.write_all(b"c\nde").expect("room");
    record.readable = true;
    let step = read(&mut record, &mut scratch, CHUNK, &quota);
    assert!(matches!(step, ReadStep::Kept { taken: 4, skip: 0 }));
    consume(&mut record, 4, &quota);
    assert!(quota.held() > 0);
    record.spec = ReadSpec::Exact(2);
    assert!(matches!(
        read(&mut record, &mut scratch, CHUNK, &quota),
        ReadStep::Kept { taken: 2, .. }
    ));
    consume(&mut record, 2, &quota);
    assert_eq!((record.input.is_none(), quota.held()), (true, 0));
    theirs.write_all(b"end").expect("room");
    drop(theirs);
    record.spec = ReadSpec::Exact(4);
    (record.readable, record.stops_short) = (true, true);
    assert!(matches!(
        read(&mut record, &mut scratch, CHUNK, &quota),
        ReadStep::Ended
    ));
    end_input(&mut record, &quota);
    assert_eq!((record.bytes_in, quota.held()), (9, 0));
}

#[test]
fn writes_are_answered_in_order_as_their_bytes_go() {
    let quota = Arc::<Quota>::default();
    let (ours, mut theirs) = pair();
    let mut record = SocketRecord::new(ours, SocketKind::Connection, 0);
    let data = vec![7; 4 << 20];
    for (n, bytes) in [(1, &data[..5]), (2, &data[..]), (3, &data[..0])] {
        let writer = (Value::fixnum(n), bytes.len());
        assert!(write_later(&mut record, writer, |to| to.add(bytes), &quota));
    }
    let mut done = Vec::new();
    let mut go = |record: &mut SocketRecord| {
        write(record, VISIT, &quota, |writer| {
            done.push(writer.fixnum_value())
        })
        .expect("a peer")
    };
    while record.writable {
        assert!(!go(&mut record));
    }
    let mut came = 0;
    let mut buffer = vec![0; 1 << 20];
    loop {
        came += theirs.read(&mut buffer).expect("bytes");
        record.writable = true;
        if go(&mut record) {
            break;
        }
    }
    assert_eq!((done, quota.held()), (vec![1, 2, 3], 0));
    while came < 5 + data.len() {
        came += theirs.read(&mut buffer).expect("bytes");
    }
    let writer = (Value::fixnum(4), 1);
    assert!(write_later(&mut record, writer, |to| to.add(b"x"), &quota));
    drop(theirs);
    assert!(write(&mut record, VISIT, &quota, |_| ()).is_err());
    assert_eq!(end_output(&mut record, &quota), [Value::fixnum(4)]);
    assert_eq!(quota.held(), 0);
}

#[test]
fn who_has_written_all_is_answered_though_the_rest_fails() {
    let quota = Arc::<Quota>::default();
    let (ours, theirs) = pair();
    let mut record = SocketRecord::new(ours, SocketKind::Connection, 0);
    for n in 1..=2 {
        let writer = (Value::fixnum(n), 3);
        assert!(write_later(
            &mut record,
            writer,
            |to| to.add(b"abc"),
            &quota
        ));
    }
    // The system has taken the first three, and no more.
    record.output.as_mut().expect("bytes").bytes.take(3);
    drop(theirs);
    let mut done = Vec::new();
    assert!(write(&mut record, VISIT, &quota, |writer| done.push(writer)).is_err());
    assert_eq!(done, [Value::fixnum(1)]);
    assert_eq!(end_output(&mut record, &quota), [Value::fixnum(2)]);
}

/// Invariant 4 of transfer.rs.
#[test]
fn a_visit_moves_a_limited_number_of_bytes() {
    let quota = Arc::<Quota>::default();
    let (ours, mut theirs) = pair();
    let mut record = SocketRecord::new(ours, SocketKind::Connection, 0);
    let mut scratch = vec![MaybeUninit::uninit(); CHUNK];
    theirs.write_all(&[7; 2500]).expect("room");
    record.spec = ReadSpec::Exact(2500);
    for came in [1000, 2000] {
        let step = read(&mut record, &mut scratch, 1000, &quota);
        assert!(matches!(step, ReadStep::GoesOn));
        assert_eq!((record.bytes_in, record.readable), (came, true));
    }
    let step = read(&mut record, &mut scratch, 1000, &quota);
    assert!(matches!(step, ReadStep::Kept { taken: 2500, .. }));
    let writer = (Value::fixnum(1), 2500);
    assert!(write_later(
        &mut record,
        writer,
        |to| to.add(&[7; 2500]),
        &quota
    ));
    for (went, is_over) in [(1000, false), (2000, false), (2500, true)] {
        let done = write(&mut record, 1000, &quota, |_| ()).expect("a peer");
        assert_eq!(
            (record.bytes_out, done, record.writable),
            (went, is_over, true)
        );
    }
}

/// Invariant 3.
#[test]
fn a_number_that_was_given_again_is_not_that_of_a_dead_socket() {
    let sockets = Sockets::for_tests();
    let sweep = || assert!(!sockets.sweep(1, usize::MAX, &|_| false));
    let [first, second] = [1, 2].map(|n| sockets.add(SocketRecord::for_tests(actor(n))).0);
    sweep();
    sweep();
    drop(sockets.remove(first));
    let mut record = SocketRecord::for_tests(actor(3));
    record.born = 1;
    assert_eq!(sockets.add(record).0, first);
    assert_eq!(sockets.take_dead(), [second]);
    assert!(!sockets.has_dead());
}

#[test]
fn dead_sockets_are_closed_some_at_a_time() {
    let sockets = Sockets::for_tests();
    let many = DEAD_AT_ONCE + 1;
    for n in 1..=many {
        sockets.add(SocketRecord::for_tests(actor(n)));
    }
    assert!(!sockets.sweep(1, usize::MAX, &|_| false));
    let taken = [(); 3].map(|()| (sockets.has_dead(), sockets.take_dead().len()));
    assert_eq!(taken, [(true, DEAD_AT_ONCE), (true, 1), (false, 0)]);
}

/// Invariants of datagrams.rs.
#[test]
fn datagrams_wait_for_room_in_their_order_and_one_that_fails_keeps_none() {
    let quota = Arc::<Quota>::default();
    let (ours, theirs) = UnixDatagram::pair().expect("two sockets");
    ours.set_nonblocking(true).expect("never waits");
    theirs.set_nonblocking(true).expect("never waits");
    let socket = Socket::from(std::os::fd::OwnedFd::from(ours));
    let mut record = SocketRecord::new(socket, SocketKind::Datagrams, 0);
    // The one in the middle is larger than the system takes.
    let sizes: Vec<usize> = (0..1_000)
        .map(|n| if n == 500 { 8 << 20 } else { n % 50 })
        .collect();
    for (n, size) in sizes.iter().enumerate() {
        let fill = |bytes: &mut super::buffer::Buffer| {
            bytes.add(&head(None));
            bytes.add(&vec![n as u8; *size]);
        };
        let writer = (Value::fixnum(n as i64), HEAD + size);
        assert!(write_later(&mut record, writer, fill, &quota));
    }
    let (mut shown, mut came, mut waits) = (Vec::new(), Vec::new(), 0);
    let mut room = vec![0; CHUNK];
    loop {
        record.writable = true;
        let is_over = datagrams::write(&mut record, VISIT, &quota, |writer, failed| {
            shown.push((writer, failed.and_then(|error| error.raw_os_error())));
        });
        waits += usize::from(!record.writable);
        while let Ok(n) = theirs.recv(&mut room) {
            came.push((room.first().copied().filter(|_| n > 0), n));
        }
        if is_over {
            break;
        }
    }
    assert!(waits > 0, "there was room for all");
    let all = 0..sizes.len() as i64;
    let expected = all.map(|n| (Value::fixnum(n), (n == 500).then_some(libc::EMSGSIZE)));
    assert_eq!(shown, expected.collect::<Vec<_>>());
    let sent = sizes.iter().enumerate().filter(|(n, _)| *n != 500);
    let sent = sent.map(|(n, size)| (Some(n as u8).filter(|_| *size > 0), *size));
    assert_eq!(came, sent.collect::<Vec<_>>());
    assert_eq!((record.output.is_none(), quota.held()), (true, 0));
}

/// A seal that doubles each byte.
#[derive(Default)]
struct Doubling {
    to_go: Vec<u8>,
    has_ended: bool,
}

impl Seal for Doubling {
    fn shake(&mut self, _: &mut Wire<'_>) -> std::io::Result<()> {
        Ok(())
    }

    fn receive(
        &mut self,
        wire: &mut Wire<'_>,
        most: usize,
        show: &mut dyn FnMut(&[u8]),
    ) -> std::io::Result<()> {
        assert!(most > 0);
        let mut both = [0; 2];
        match wire.read(&mut both)? {
            2 if both[0] == both[1] => show(&both[..1]),
            0 => {}
            _ => return Err(SealError("bad".into()).into()),
        }
        Ok(())
    }

    fn seal(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let first = &bytes[..bytes.len().min(1_000)];
        self.to_go
            .extend(first.iter().flat_map(|byte| [byte, byte]));
        Ok(first.len())
    }

    fn flush(&mut self, wire: &mut Wire<'_>) -> std::io::Result<()> {
        while !self.to_go.is_empty() {
            // One by one, so that it stops anywhere.
            let n = wire.write(&self.to_go[..1])?;
            self.to_go.drain(..n);
        }
        Ok(())
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.to_go.extend(b"..");
        }
    }

    fn agreed(&self) -> Agreed {
        Agreed::default()
    }

    fn bytes(&self) -> usize {
        100
    }
}

/// seal.rs, invariants 2 and 3.
#[test]
fn sealed_bytes_count_when_all_that_they_became_has_gone() {
    let quota = Arc::<Quota>::default();
    let (ours, mut theirs) = pair();
    let mut record = SocketRecord::new(ours, SocketKind::Connection, 0);
    let seal = Sealed::new(Box::<Doubling>::default(), &quota);
    record.sealed = Some(Box::new(seal));
    assert_eq!(quota.held(), 100);
    let data: Vec<u8> = (0..400_000u32).map(|n| n as u8).collect();
    let writer = (Value::fixnum(1), data.len());
    assert!(write_later(&mut record, writer, |to| to.add(&data), &quota));
    let mut came = Vec::new();
    let mut buffer = [0; 3_333];
    let (mut done, mut stops) = (0, 0);
    // Visits end within what was sealed, and so does what the system takes.
    while !write(&mut record, 777, &quota, |_| done += 1).expect("a peer") {
        assert_eq!(done, 0);
        if !std::mem::replace(&mut record.writable, true) {
            stops += 1;
            let n = theirs.read(&mut buffer).expect("bytes");
            came.extend(&buffer[..n]);
        }
    }
    assert!(stops > 1, "the system has taken all at once");
    assert_eq!((done, record.bytes_out), (1, 400_000));
    theirs.write_all(b"aabc").expect("room");
    let mut scratch = vec![MaybeUninit::uninit(); CHUNK];
    record.stops_short = true;
    let step = read(&mut record, &mut scratch, CHUNK, &quota);
    assert!(matches!(step, ReadStep::Came(1)));
    let step = read(&mut record, &mut scratch, CHUNK, &quota);
    assert!(matches!(&step, ReadStep::Failed(error) if crate::platform::failure::is_fatal(error)));
    drop(record);
    theirs.read_to_end(&mut came).expect("the end");
    let doubled: Vec<u8> = data.iter().flat_map(|byte| [*byte, *byte]).collect();
    assert!(came == doubled);
    assert_eq!(quota.held(), 0);
}

/// The end of a seal goes behind all bytes, and waits for room as they do.
#[test]
fn the_end_of_a_seal_waits_for_room() {
    let quota = Arc::<Quota>::default();
    let (ours, mut theirs) = pair();
    let mut record = SocketRecord::new(ours, SocketKind::Connection, 0);
    record.sealed = Some(Box::new(Sealed::new(Box::<Doubling>::default(), &quota)));
    let mut count = 0;
    while (&record.socket).write(b"x").is_ok() {
        count += 1;
    }
    record.ends = true;
    record.output = Some(Box::default());
    for _ in 0..2 {
        let is_over = write(&mut record, VISIT, &quota, |_| ()).expect("a peer");
        assert!(!is_over && !record.writable && record.output.is_some());
        record.writable = true;
    }
    let mut came = vec![0; count];
    theirs.read_exact(&mut came).expect("bytes");
    assert!(write(&mut record, VISIT, &quota, |_| ()).expect("a peer"));
    assert!(record.output.is_none());
    drop(record);
    came.clear();
    theirs.read_to_end(&mut came).expect("the end");
    assert_eq!(came, b"..");
}
