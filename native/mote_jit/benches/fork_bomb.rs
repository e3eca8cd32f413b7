//! The fork bomb without the BEAM: `cargo bench -p mote_jit --bench fork_bomb -- [DEPTH] [RUNS] [THREADS]`.
//!
//! Prints nanoseconds per actor, minimum and median over the runs, each on a fresh machine.
#[path = "../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../tests/support/compiler.rs"]
mod compiler;
#[path = "../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "support/machine.rs"]
mod machine;
#[path = "../../mote_vm/tests/support/programs.rs"]
mod programs;
#[path = "../../mote_vm/tests/support/world.rs"]
mod world;

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<i64>().ok());
    let depth = numbers.next().unwrap_or(20);
    let runs = numbers.next().unwrap_or(5) as usize;
    let threads = numbers.next().unwrap_or(1) as usize;
    let unit = encode::encode(&programs::fork_bomb());
    let actors = (2i64 << depth) - 1;
    let mut times: Vec<f64> = (0..runs)
        .map(|_| machine::fork_bomb(&unit, depth, threads) / actors as f64)
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "fork_bomb depth {depth}, {threads} threads: {:.1} ns/actor (median of {runs}, min {:.1}, max {:.1})",
        times[runs / 2],
        times[0],
        times[runs - 1]
    );
}
