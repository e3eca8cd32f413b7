//! Tests of whole machines, in one program: each that links the virtual machine and Cranelift takes seconds, and there are
//! forty. What looks at the memory or the limits of its process has a program of its own beside this folder.

#[path = "../support/build.rs"]
mod build;
#[path = "../support/encode.rs"]
mod encode;
#[path = "../support/generate.rs"]
mod generate;
#[path = "../support/graph.rs"]
mod graph;
#[path = "../support/hearing.rs"]
mod hearing;
#[path = "../support/judge.rs"]
mod judge;
#[path = "../support/listing.rs"]
mod listing;
#[path = "../support/programs.rs"]
mod programs;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/reference.rs"]
mod reference;
#[path = "../support/rig.rs"]
mod rig;
#[path = "../support/shapes.rs"]
mod shapes;
#[path = "../support/trial.rs"]
mod trial;
#[path = "../support/world.rs"]
mod world;

mod bounds;
mod call_sites;
mod gc;
mod gc_crossed;
mod gc_standing_still;
mod loader;
mod loader_code;
mod loader_effects;
mod loader_random;
mod loader_tables;
mod look;
mod machine;
mod operations;
mod operations_answers;
mod operations_binaries;
mod operations_effects;
mod operations_in_line;
mod operations_lanes;
mod operations_limits;
mod operations_loops;
mod operations_nested;
mod operations_ranges;
mod operations_unroll;
mod quota;
mod redefine;
mod seeded;
mod stash;
mod threads;
mod threads_contention;
mod threads_fault;
mod threads_quiet;
mod threads_removal;
mod threads_sharing;
mod threads_sponsors;
mod threads_stand_in;
mod threads_stop;
mod tiers;
mod timers;
mod uncommitted;
mod zeros;
