//! `mote_baseline PROGRAM SIZE REPEATS`: for `mix mote.bench`. Prints nanoseconds and result, in one line.
//!
//! With several repeats one more run goes ahead of them, and the time is the median.
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match measured(&arguments) {
        Some((ns, result)) => {
            println!("{ns:.3} {result:?}");
            ExitCode::SUCCESS
        }
        None => {
            let programs = mote_baseline::PROGRAMS.join(", ");
            eprintln!("usage: mote_baseline PROGRAM SIZE REPEATS; programs: {programs}");
            ExitCode::FAILURE
        }
    }
}

fn measured(arguments: &[String]) -> Option<(f64, f64)> {
    let [program, size, repeats] = arguments else {
        return None;
    };
    let size = size.parse().ok()?;
    let repeats: usize = repeats.parse().ok().filter(|&n| n > 0)?;
    if repeats > 1 {
        mote_baseline::run(program, size)?;
    }
    let mut times = Vec::with_capacity(repeats);
    let mut result = 0.0;
    for _ in 0..repeats {
        let run = mote_baseline::run(program, size)?;
        times.push(run.time);
        result = run.result;
    }
    times.sort_unstable();
    let middle = (times[(repeats - 1) / 2] + times[repeats / 2]) / 2;
    Some((middle.as_nanos() as f64, result))
}
