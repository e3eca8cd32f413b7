//! Tests of whole machines, in one program: each takes seconds to link, and there are thirty. They interpret; `mote_jit`
//! runs most of them natively (its tests/native/main.rs). What looks at the memory or the limits of its process has a program of its own beside this folder.

#[path = "../support/build.rs"]
mod build;
#[path = "../support/compiler.rs"]
mod compiler;
#[path = "../support/encode.rs"]
mod encode;
#[path = "../support/graph.rs"]
mod graph;
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
#[path = "../support/world.rs"]
mod world;

mod gc;
mod gc_crossed;
mod gc_moving;
mod gc_standing_still;
mod image;
mod image_beside;
mod image_changed;
mod loader;
mod loader_code;
mod loader_effects;
mod loader_random;
mod loader_tables;
mod look;
mod machine;
mod moving;
mod quota;
mod redefine;
mod seeded;
mod stash;
mod telling_many;
mod threads;
mod threads_away;
mod threads_contention;
mod threads_fault;
mod threads_partition;
mod threads_quiet;
mod threads_removal;
mod threads_sharing;
mod threads_sponsors;
mod threads_stand_in;
mod threads_stand_in_deep;
mod threads_stand_in_left;
mod threads_stop;
mod timers;
