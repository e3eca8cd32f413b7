//! A sponsor has all of its threads or there is none: what the system refuses leaves a running machine as it was. A test
//! of its own, for it limits the address space of its process.
#![cfg(all(target_os = "linux", not(miri)))]
#[path = "support/build.rs"]
mod build;
#[path = "support/compiler.rs"]
mod compiler;
#[path = "support/encode.rs"]
mod encode;
#[path = "support/graph.rs"]
mod graph;
#[path = "support/listing.rs"]
mod listing;
#[path = "support/programs.rs"]
mod programs;
#[path = "support/rig.rs"]
mod rig;
#[path = "support/world.rs"]
mod world;

use graph::{token_message, Graph};
use mote_vm::machine::StartError;
use rig::{until, Rig, Tap};
use world::sponsor;

const MB: u64 = 1 << 20;

/// Bytes of address space that this process has.
fn mapped() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    // SAFETY: only answers a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    pages.expect("a number of pages") * page
}

/// Dispatch threads of the sponsor "west".
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.flatten().map(|task| task.path().join("comm"));
    let names = names.filter_map(|comm| std::fs::read_to_string(comm).ok());
    names.filter(|name| name.contains("-west-")).count()
}

fn limit(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the limit is read, and nothing else.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// Returns whether the system keeps such a limit. An emulated system may not.
fn is_limit_kept() -> bool {
    const ROOM: usize = 400 << 20;
    limit(mapped() + ROOM as u64 / 2);
    // SAFETY: an anonymous private mapping at an address of the kernel's choice, which nobody touches.
    let start = unsafe {
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), ROOM, libc::PROT_NONE, how, -1, 0)
    };
    limit(libc::RLIM_INFINITY);
    if start == libc::MAP_FAILED {
        return true;
    }
    // SAFETY: just mapped.
    unsafe { libc::munmap(start, ROOM) };
    false
}

#[test]
fn a_sponsor_that_cannot_have_all_of_its_threads_harms_nobody() {
    if !is_limit_kept() {
        eprintln!("not tested: this system keeps no limit of address space");
        return;
    }
    let rig = Rig::new(&[("main", 1)], graph::unit(["main", "main"], false));
    let graph = Graph::random(8, 1);
    let tap = Tap::new();
    let keys = graph.build(&rig, &tap, None);
    let west = sponsor("west", 4);
    let (mut refused, mut sent) = (Vec::new(), 0);
    // A stack after the other fits.
    for room in (1..).map(|n| n * 200 * MB) {
        limit(mapped() + room);
        let added = rig.machine.add_sponsor(&west);
        limit(libc::RLIM_INFINITY);
        sent += 1;
        rig.send(keys[0], token_message(3, 7));
        rig.quiet();
        assert_eq!(tap.count(), sent, "the machine goes on");
        match added {
            Ok(()) => break,
            Err(error) => refused.push(error),
        }
        assert_eq!(threads(), 0);
        assert_eq!(rig.machine.info().sponsors.len(), 1);
    }
    until(|| threads() == 4);
    assert!(refused.iter().any(|e| matches!(e, StartError::Memory)));
    assert!(refused.iter().any(|e| matches!(e, StartError::Thread(_))));
    rig.send_by("west", keys[0], token_message(3, 7));
    rig.quiet();
    assert_eq!(tap.count(), sent + 1);
}
