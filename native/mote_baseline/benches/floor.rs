//! The fork bomb against its floor, in one process: `cargo bench -p mote_baseline --bench floor -- [DEPTH] [ROUNDS]`.
//!
//! In every round both run once, each on fresh memory, in turns first and second. Prints nanoseconds per actor of
//! each, and how many times longer the machine takes, round by round: median, least and greatest.
#[path = "../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../../mote_jit/tests/support/compiler.rs"]
mod compiler;
#[path = "../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "../../mote_jit/benches/support/machine.rs"]
mod machine;
#[path = "../../mote_vm/tests/support/programs.rs"]
mod programs;
#[path = "../../mote_vm/tests/support/world.rs"]
mod world;

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<u32>().ok());
    let depth = numbers.next().unwrap_or(20);
    let rounds = numbers.next().unwrap_or(9).max(1) as usize;
    let unit = encode::encode(&programs::fork_bomb());
    let actors = (2u64 << depth) as f64 - 1.0;
    let floor = || {
        let run = mote_baseline::floor::run(depth);
        assert_eq!(run.result, actors, "the floor is another tree");
        run.time.as_nanos() as f64 / actors
    };
    let machine = || machine::fork_bomb(&unit, depth.into(), 1) / actors;
    // The first ones fetch code and set up the process.
    floor();
    machine();
    let mut times: Vec<(f64, f64)> = Vec::new();
    for round in 0..rounds {
        times.push(if round % 2 == 0 {
            (machine(), floor())
        } else {
            let floor = floor();
            (machine(), floor)
        });
    }
    println!("fork bomb, depth {depth}, one thread, {rounds} rounds");
    show("machine", "ns/actor", times.iter().map(|t| t.0));
    show("floor", "ns/actor", times.iter().map(|t| t.1));
    show("machine/floor", "x", times.iter().map(|t| t.0 / t.1));
}

fn show(name: &str, unit: &str, values: impl Iterator<Item = f64>) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (median, max) = (values[values.len() / 2], values[values.len() - 1]);
    let min = values[0];
    println!("  {name:<14} {median:7.2} {unit} (min {min:.2}, max {max:.2})");
}
