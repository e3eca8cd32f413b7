//! The actor machine: values, heap, code, turns, queues, dispatch threads.
//!
//! This crate knows nothing of the BEAM. It reaches its embedder through the trait [`machine::Embedder`], and values that
//! it cannot look into (processes, references, terms of other kinds) through [`values::foreign::Foreign`].
//!
//! # The layers
//!
//! The folders below are listed in the order in which they are best read: each one uses those before it and none of
//! those after it. `tests/layers.rs` checks this, by imports and by calls of methods. No import is an exception; four files of
//! `threads` call methods of the collector, and that test names them.
//!
//! A **value** is one word; most of them are numbers or pointers to cells in a **heap**. The **terms** are what the
//! language does with values: its primitives, its maps. The **code** of a behaviour arrives as a unit of untrusted
//! bytes, which is decoded, verified and lowered. A **turn** runs such code for one event of one actor; **native** code
//! does the same faster, if the machine was given a compiler (the crate `mote_jit` is one). What leaves a heap, or
//! enters one, crosses the **boundary** as a parcel. **Watching** shows or counts turns while they run. The dispatch
//! **threads** run turns for as long as anything is queued. Between two turns, they let the collector (**gc**) in, and
//! callers that want to **look** inside, or to **prove** something of all orders of turns. An **image** is all that a
//! machine holds, in a file. The **machine** puts all of this together for its embedder.
//!
//! # The way of one message
//!
//! In `mote_nif` a NIF (`nifs/actors.rs`) finds the handle of an address and writes the message down (`codec/encode.rs`).
//! [`machine::Machine::send`] packs nothing itself: its caller has built a [`boundary::parcel::Parcel`]. The parcel goes
//! into the inbox of the thread that leads the sponsor (`threads/inbox.rs`), and the thread is woken if it sleeps
//! (`threads/parker.rs`). That thread takes it in (`threads/thread/intake.rs`): it unpacks it into its own heap
//! (`boundary/parcel/unpack.rs`) and queues an event (`turns/queue.rs`). When the event is due, the thread begins a turn
//! (`threads/run_turn.rs`), runs it natively or by interpreter, and commits it (`turns/turn.rs`). Messages to the
//! outside are then delivered through [`values::foreign::Foreign::deliver`].
//!
//! # An example
//!
//! A machine with one sponsor, which has one dispatch thread, runs one turn. Its code comes as a unit. The compiler in
//! `lib/mote/behaviour` makes such units, and so does `tests/support/encode.rs`.
//!
//! ```
//! use mote_vm::base::{atom::Atom, clock::ClockKind};
//! use mote_vm::boundary::parcel::{Builder, Parcel};
//! use mote_vm::heap::pace::GcConfig;
//! use mote_vm::machine::{Abort, Config, Fault, Machine, Embedder, DEFAULT_FUEL};
//! use mote_vm::threads::{seeded::Schedule, sponsor::SponsorConfig};
//!
//! /// An embedder that ignores all reports.
//! struct Deaf;
//!
//! impl Embedder for Deaf {
//!     fn aborted(&self, _: &Machine, _: Abort<'_>) -> bool {
//!         false
//!     }
//!     fn fault(&self, _: &Machine, _: Fault) {}
//! }
//!
//! // What the compiler makes of `defactor bell(rung) do :ring -> become bell(rung + 1) end` in a module `Bell`.
//! const BELL: &[u8] = b"MOTE\x02\x0BElixir.Bell\xEFD\xA9\xB1\xC9\xC9i\x05\x03\x04bell\x04ring\x0BElixir.Bell\
//!     \x02\x02\x01\x00\x02\x00\x01\x02\x00\x01\x00\x01\x00\x01\x02\x00\x05\x0C\x02\x01\x04\x01\x00\x00\x00\x03\
//!     \x14\x00\x01\x00\x17\x18\x00";
//!
//! let config = Config {
//!     name: "example".to_string(),
//!     sponsors: vec![SponsorConfig::new(Atom::new("main"), 1)],
//!     fuel: DEFAULT_FUEL,
//!     memory: 64 << 20,
//!     gc: GcConfig::default(),
//!     clock: ClockKind::System,
//!     schedule: Schedule::Threads,
//!     compiler: None,
//! };
//! let machine = Machine::start(config, Box::new(Deaf)).expect("memory and a thread");
//!
//! // Bytes that are not a unit of code are refused, whatever they are.
//! assert!(machine.load(b"no unit", &|_, _| None).is_err());
//! let module = machine.load(BELL, &|_, _| None).expect("a unit");
//! let (bell, _hash) = machine.behaviour(module, Atom::new("bell"), 1).expect("bell/1");
//!
//! let mut captures = Builder::new();
//! captures.tuple(1);
//! captures.integer(0);
//! let actor = machine.create(&bell, None, captures.finish()).expect("memory");
//! machine.send(actor, None, Parcel::atom(Atom::new("ring"))).expect("memory");
//!
//! let (quiet, waiting) = std::sync::mpsc::channel();
//! machine.when_quiet(Box::new(move || quiet.send(()).unwrap()));
//! waiting.recv().unwrap();
//! let counts = machine.info().counts();
//! assert_eq!((counts.turns, counts.becomes), (1, 1));
//!
//! machine.release(actor);
//! machine.stop();
//! machine.join();
//! ```

#[cfg(not(unix))]
compile_error!(
    "Mote does not support Windows: its threads need a Unix system, such as Linux in WSL 2"
);
#[cfg(not(target_pointer_width = "64"))]
compile_error!("Mote needs a 64-bit processor: addresses and numbers share words of 64 bits");

pub mod base;

pub(crate) mod platform;

pub mod values;

pub mod heap;

pub mod terms;

pub mod code;

pub(crate) mod turns;

pub mod native;

pub mod boundary;

pub mod watching;

pub mod threads;

pub mod gc;

pub mod look;

pub mod prove;

pub mod image;

pub mod machine;

#[cfg(test)]
pub(crate) mod testing;

pub use terms::prim::order::distinguish_zeros;
pub use terms::view::{FunctionTerm, Map, Tuple, View};
pub use turns::turn::staged::Staged;
pub use values::term::{ActorRef, Committed, Origin, Term, Uncommitted};
