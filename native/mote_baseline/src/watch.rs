//! How long something takes: by the clock, and in CPU time of this thread, which others on the computer disturb less.
use std::time::{Duration, Instant};

/// The moment at which something began.
pub(crate) struct Watch {
    clock: Instant,
    cpu: Duration,
}

impl Watch {
    pub(crate) fn start() -> Watch {
        Watch {
            cpu: cpu(),
            clock: Instant::now(),
        }
    }

    /// Returns the time that has passed since then, by the clock and in CPU time.
    pub(crate) fn passed(&self) -> (Duration, Duration) {
        let time = self.clock.elapsed();
        (time, cpu() - self.cpu)
    }
}

fn cpu() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system writes to `now` only.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    assert_eq!(status, 0, "the system counts no CPU time of threads");
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_takes_time_and_next_to_no_cpu_time() {
        let watch = Watch::start();
        std::thread::sleep(Duration::from_millis(20));
        let (time, cpu) = watch.passed();
        assert!(time >= Duration::from_millis(20));
        assert!(cpu < time);
    }
}
