//! How even the cores of this computer are at this moment.
//!
//! A core of a virtual computer is often half of a real one. While a stranger works on the other half, or another core of
//! the same computer is that half, it has little more than half of its speed, and no counter of the system says so; only
//! work that always takes the same tells.
use core_affinity::CoreId;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Steps between two looks at the clock: half a microsecond.
const STEPS: u32 = 512;

/// The least speed of a core by the greatest: of each alone, and of all at once, for that many microseconds each. Near 1 if
/// they are equally fast, and as fast together as alone.
pub fn evenness(micros: u32) -> f64 {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let time = Duration::from_micros(micros.into());
    let alone = cores.iter().flat_map(|core| speeds(&[*core], time));
    let speeds: Vec<f64> = alone.chain(speeds(&cores, time)).collect();
    let least = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = speeds.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    least.min(most) / most
}

/// Measures the speeds of these cores when all of them work at once.
fn speeds(cores: &[CoreId], time: Duration) -> Vec<f64> {
    let begin = Barrier::new(cores.len());
    let begin = &begin;
    let speed = move |core| {
        core_affinity::set_for_current(core);
        begin.wait();
        speed(time)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cores
            .iter()
            .map(|core| scope.spawn(move || speed(*core)))
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    })
}

/// Steps per microsecond of chains that do not wait for each other: together they take nearly all that a core can begin, so
/// that two threads on one core get half of it each.
fn speed(time: Duration) -> f64 {
    let start = Instant::now();
    let mut chains = [1u64, 2, 3, 4, 5, 6, 7, 8];
    let mut steps = 0;
    loop {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = black_box(chains);
        for _ in 0..STEPS {
            a = a.rotate_left(3).wrapping_add(1);
            b = (b >> 1) ^ 5;
            c = c.rotate_left(7) ^ 9;
            d = (d << 1).wrapping_sub(3);
            e = e.rotate_left(11).wrapping_add(e);
            f = (f >> 3).wrapping_add(7);
            g = g.rotate_left(13) ^ 21;
            h = (h << 2) ^ 11;
        }
        chains = [a, b, c, d, e, f, g, h];
        steps += STEPS;
        let elapsed = start.elapsed();
        if elapsed >= time {
            return f64::from(steps) * 1000.0 / elapsed.as_nanos() as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn evenness_is_a_part_of_one() {
        let evenness = super::evenness(100);
        assert!(evenness > 0.0 && evenness <= 1.0, "{evenness}");
    }
}
