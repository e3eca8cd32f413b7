//! The cigarette smokers: the idle loops, of smokers that are chosen by lot.
//!
//! Left out: the messages. What one smoker does no other one sees, so each smokes as soon as it is chosen.
use crate::cells::Int;
use crate::savina::dice::{idle, roll};

const SMOKERS: i64 = 200;

/// A smoker's state: its dice, and the number of rounds that its idle loop has made.
struct Smoker {
    dice: Int,
    smoked: Int,
}

/// Runs all rounds of all idle loops.
pub(crate) fn run(n: u32) -> f64 {
    let smoker = |seed| Smoker {
        dice: Int::new(seed),
        smoked: Int::ZERO,
    };
    let mut smokers: Vec<Smoker> = (1..=SMOKERS).map(smoker).collect();
    let mut dice = Int::ONE;
    for _ in 0..n {
        dice = roll(dice);
        let smoker = &mut smokers[(dice % SMOKERS).get() as usize];
        let rounds = dice.div(1_000) % 1_000;
        smoker.dice = idle(smoker.dice, rounds);
        smoker.smoked = smoker.smoked + rounds;
    }
    // As in the actors, so that nobody can leave the loops out.
    let smoked = smokers.iter().filter(|smoker| smoker.dice > Int::ZERO);
    smoked.map(|smoker| smoker.smoked.get() as f64).sum()
}
