//! What Mote is measured against: the programs of `mix mote.bench` as one would write them in Rust without a machine.
//!
//! Nothing here knows the machine, or is a part of it. `mix mote.bench` runs the executable of this crate beside its
//! nodes, `cargo bench -p mote_baseline --bench floor` runs [`floor`] beside the machine in one process.
//!
//! Every size passes [`std::hint::black_box`] and every result is returned, so that the optimiser cannot remove any of the work.
pub mod cores;
pub mod dot;
pub mod erfc;
pub mod fib;
pub mod floor;
mod queue;
mod region;
pub mod tree;

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One run: how long it took, and what came out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// The time, without what a machine, too, does before its clock starts and after it has stopped.
    pub time: Duration,
    /// The result, by which a run is known to be right.
    pub result: f64,
}

/// The names of all programs.
pub const PROGRAMS: [&str; 7] = [
    "floor",
    "continuations",
    "recursion",
    "fib",
    "erfc",
    "dot",
    "cores",
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
        "dot" => timed(|| dot::sum(size)),
        "cores" => timed(|| cores::evenness(size)),
        _ => return None,
    };
    Some(run)
}

fn timed(work: impl FnOnce() -> f64) -> Run {
    let start = Instant::now();
    let result = black_box(work());
    Run {
        time: start.elapsed(),
        result,
    }
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
        assert_eq!(run("unknown", 1), None);
    }

    #[test]
    fn every_program_has_a_name_that_runs() {
        assert!(PROGRAMS.iter().all(|name| run(name, 3).is_some()));
    }
}
