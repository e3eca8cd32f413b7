//! Programs of the Savina suite without actors: what they compute, with the machine's cells and in the same steps.
//!
//! What each leaves out is said at its head. Those that take cells do all their work twice on the same heap, and the second time
//! counts: as in a machine that has had runs before, memory is mapped then.
mod barber;
mod dice;
mod philosophers;
mod queens;
mod quicksort;
mod radixsort;
mod smokers;
mod sorted_list;
mod trapezoid;

use crate::cells::Heap;
use crate::{timed, Run};
use std::hint::black_box;

/// Runs the program of that name, `None` if there is none.
pub(crate) fn run(program: &str, n: u32) -> Option<Run> {
    let run = match program {
        "queens" => on_cells(|heap| queens::run(heap, n)),
        "quicksort" => {
            let numbers = Heap::new();
            let numbers = quicksort::numbers(&numbers, n);
            on_cells(|heap| quicksort::run(heap, black_box(numbers)))
        }
        "sorted_list" => on_cells(|heap| sorted_list::run(heap, n)),
        "barber" => on_cells(|heap| barber::run(heap, n)),
        "radixsort" => {
            let numbers = radixsort::numbers(n);
            on_cells(|heap| radixsort::run(heap, black_box(&numbers)))
        }
        "philosophers" => on_cells(|heap| philosophers::run(heap, n)),
        "smokers" => timed(|| smokers::run(n)),
        "trapezoid" => timed(|| trapezoid::run(n)),
        _ => return None,
    };
    Some(run)
}

fn on_cells(work: impl Fn(&mut Heap) -> f64) -> Run {
    let mut heap = Heap::new();
    black_box(work(&mut heap));
    heap.empty();
    timed(|| work(&mut heap))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(program: &str, n: u32) -> f64 {
        run(program, n).unwrap().result
    }

    #[test]
    fn results_are_right() {
        let solutions: Vec<f64> = (2..=9).map(|n| result("queens", n)).collect();
        assert_eq!(solutions, [0.0, 0.0, 2.0, 10.0, 4.0, 40.0, 92.0, 352.0]);
        for n in [1, 20, 3_000] {
            assert_eq!(result("barber", n), n.into());
            assert_eq!(result("radixsort", n), n.into());
            assert_eq!(result("philosophers", n), (20 * n).into());
        }
        assert!((result("trapezoid", 1_000) - result("trapezoid", 3_000)).abs() < 1e-6);
    }
}
