//! `mote_baseline PROGRAM SIZE REPEATS`: for `mix mote.bench`. Prints nanoseconds by the clock, those of CPU time, and the
//! result, in one line.
//!
//! With several repeats one more run goes ahead of them, and the times are the medians.
use mote_baseline::Run;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measured(&arguments) {
        Some((ns, cpu, result)) => {
            println!("{ns:.3} {cpu:.3} {result:?}");
            ExitCode::SUCCESS
        }
        None => {
            let programs = mote_baseline::PROGRAMS.join(", ");
            eprintln!("usage: mote_baseline PROGRAM SIZE REPEATS; programs: {programs}");
            ExitCode::FAILURE
        }
    }
}

fn measured(arguments: &[String]) -> Option<(f64, f64, f64)> {
    let [program, size, repeats] = arguments else {
        return None;
    };
    let size = size.parse().ok()?;
    let repeats: usize = repeats.parse().ok().filter(|&n| n > 0)?;
    if repeats > 1 {
        mote_baseline::run(program, size)?;
    }
    let runs: Vec<Run> = (0..repeats)
        .map(|_| mote_baseline::run(program, size))
        .collect::<Option<_>>()?;
    let median = |times: fn(&Run) -> Duration| median(runs.iter().map(times).collect());
    let last = runs.last()?;
    Some((median(|run| run.time), median(|run| run.cpu), last.result))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let middle = (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2;
    middle.as_nanos() as f64
}
