//! Native code against the interpreter, and whole machines that run native code, in one program.
//!
//! The tests of whole machines are those of `mote_vm`, which runs them without a compiler.

// For the targets of fuzzing, which name that crate.
extern crate self as libfuzzer_sys;
use fuzz_targets::fuzzer_mutate;

#[path = "../../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../support/compiler.rs"]
mod compiler;
#[path = "../../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "../support/generate.rs"]
mod generate;
#[path = "../../../mote_vm/tests/support/graph.rs"]
mod graph;
#[path = "../support/hearing.rs"]
mod hearing;
#[path = "../../../mote_vm/tests/support/listing.rs"]
mod listing;
#[path = "../../../mote_vm/tests/support/programs.rs"]
mod programs;
#[path = "../../../mote_vm/tests/support/random.rs"]
mod random;
#[path = "../../../mote_vm/tests/support/rig.rs"]
mod rig;
#[path = "../support/shapes.rs"]
mod shapes;
#[path = "../support/trial.rs"]
mod trial;
#[path = "../../../mote_vm/tests/support/world.rs"]
mod world;

mod bounds;
mod call_sites;
mod fuzz_targets;
mod operations;
mod operations_answers;
mod operations_binaries;
mod operations_effects;
mod operations_in_line;
mod operations_lanes;
mod operations_limits;
mod operations_loops;
mod operations_maps;
mod operations_mixed;
mod operations_nested;
mod operations_pending;
mod operations_predicates;
mod operations_proofs;
mod operations_ranges;
mod operations_remainders;
mod operations_tuples;
mod operations_unroll;
mod operations_values;
mod tiers;
mod uncommitted;
mod zeros;

#[path = "../../../mote_vm/tests/vm/gc.rs"]
mod gc;
#[path = "../../../mote_vm/tests/vm/gc_crossed.rs"]
mod gc_crossed;
#[path = "../../../mote_vm/tests/vm/gc_standing_still.rs"]
mod gc_standing_still;
#[path = "../../../mote_vm/tests/vm/image.rs"]
mod image;
#[path = "../../../mote_vm/tests/vm/image_beside.rs"]
mod image_beside;
#[path = "../../../mote_vm/tests/vm/look.rs"]
mod look;
#[path = "../../../mote_vm/tests/vm/machine.rs"]
mod machine;
#[path = "../../../mote_vm/tests/vm/quota.rs"]
mod quota;
#[path = "../../../mote_vm/tests/vm/redefine.rs"]
mod redefine;
#[path = "../../../mote_vm/tests/vm/seeded.rs"]
mod seeded;
#[path = "../../../mote_vm/tests/vm/threads.rs"]
mod threads;
#[path = "../../../mote_vm/tests/vm/threads_contention.rs"]
mod threads_contention;
#[path = "../../../mote_vm/tests/vm/threads_fault.rs"]
mod threads_fault;
#[path = "../../../mote_vm/tests/vm/threads_quiet.rs"]
mod threads_quiet;
#[path = "../../../mote_vm/tests/vm/threads_removal.rs"]
mod threads_removal;
#[path = "../../../mote_vm/tests/vm/threads_sharing.rs"]
mod threads_sharing;
#[path = "../../../mote_vm/tests/vm/threads_sponsors.rs"]
mod threads_sponsors;
#[path = "../../../mote_vm/tests/vm/threads_stand_in.rs"]
mod threads_stand_in;
#[path = "../../../mote_vm/tests/vm/threads_stand_in_deep.rs"]
mod threads_stand_in_deep;
#[path = "../../../mote_vm/tests/vm/threads_stand_in_left.rs"]
mod threads_stand_in_left;
#[path = "../../../mote_vm/tests/vm/threads_stop.rs"]
mod threads_stop;
#[path = "../../../mote_vm/tests/vm/timers.rs"]
mod timers;
