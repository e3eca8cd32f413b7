//! What Mote is measured against: the programs of `mix mote.bench` as one would write them in Rust without a machine.
//!
//! Nothing here knows the machine, or is a part of it. `mix mote.bench` runs the executable of this crate beside its
//! nodes, `cargo bench -p mote_baseline --bench floor` runs [`floor`] beside the machine in one process.
//!
//! Every size passes [`std::hint::black_box`] and every result is returned, so that the optimiser cannot remove any of the work.
mod cells;
pub mod cores;
pub mod dot;
pub mod erfc;
pub mod erfc_bomb;
pub mod fib;
pub mod floor;
mod queue;
mod region;
pub mod savina;
pub mod tree;
mod watch;

use std::hint::black_box;
use std::time::Duration;
use watch::Watch;

/// One run: how long it took, and what came out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// The time, without what a machine, too, does before its clock starts and after it has stopped.
    pub time: Duration,
    /// CPU time of the same span.
    pub cpu: Duration,
    /// The result, by which a run is known to be right.
    pub result: f64,
}

/// The names of all programs.
pub const PROGRAMS: [&str; 16] = [
    "floor",
    "continuations",
    "recursion",
    "fib",
    "erfc",
    "erfc_bomb",
    "dot",
    "cores",
    "queens",
    "quicksort",
    "sorted_list",
    "barber",
    "radixsort",
    "philosophers",
    "smokers",
    "trapezoid",
];

/// Runs the program of that name, `None` if there is none.
pub fn run(program: &str, size: u32) -> Option<Run> {
    let size = black_box(size);
    let run = match program {
        "floor" => floor::run(size),
        "continuations" => timed(|| tree::continuations(size) as f64),
        "recursion" => timed(|| tree::recursion(size) as f64),
        "fib" => timed(|| fib::fib(size as i64) as f64),
        "erfc" => timed(|| erfc::sum(size)),
        "erfc_bomb" => timed(|| erfc_bomb::sum(size)),
        "dot" => timed(|| dot::sum(size)),
        "cores" => timed(|| cores::evenness(size)),
        _ => return savina::run(program, size),
    };
    Some(run)
}

fn timed(work: impl FnOnce() -> f64) -> Run {
    let watch = Watch::start();
    let result = black_box(work());
    let (time, cpu) = watch.passed();
    Run { time, cpu, result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_right() {
        for depth in 0..12 {
            let actors = (2u64 << depth) - 1;
            assert_eq!(run("floor", depth).unwrap().result, actors as f64);
            assert_eq!(run("continuations", depth).unwrap().result, actors as f64);
            assert_eq!(run("recursion", depth).unwrap().result, actors as f64);
        }
        let fibs: Vec<f64> = (0..10).map(|n| run("fib", n).unwrap().result).collect();
        assert_eq!(fibs, [0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0]);
        assert!(run("erfc", 0).unwrap().result == 0.0);
        // The mean of erfc over 0..1.
        let mean = run("erfc_bomb", 6).unwrap().result / 64_000.0;
        assert!((mean - 0.513_935_041_887_744).abs() < 0.005, "{mean}");
        assert_eq!(run("unknown", 1), None);
    }

    #[test]
    fn every_program_has_a_name_that_runs() {
        assert!(PROGRAMS.iter().all(|name| run(name, 3).is_some()));
    }
}
