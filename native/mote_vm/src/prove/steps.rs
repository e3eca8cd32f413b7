//! The steps of a search from situation to situation, the ways that they make, and the number of orders that these stand for.
//!
//! ```text
//! for each situation, as they were looked at   number of its steps
//!   for each step                              how far back what it leads to was met, 0 for a new one; and its event, where
//!                                              that is not the one behind the last step's
//! ```
//!
//! Invariants:
//! 1. Situations are looked at in the order of their numbers, and new ones have the next number. So each was come to first by the
//!    one step that leads to it as new, and a mark every few situations is enough to find it.
use super::compact::{make_room, put, take};

/// Situations from one mark to the next.
const STRIDE: usize = 16;

/// See the head of this file.
pub(super) struct SearchSteps {
    bytes: Vec<u8>,
    /// For every few situations where their steps begin, and how many situations were known then.
    marks: Vec<(usize, u32)>,
    looked_at: usize,
    /// Number of situations that are known.
    known: u32,
    /// The steps of the situation that is looked at.
    steps: Vec<(u32, u32)>,
}

/// All steps of a search, to be walked along.
pub(super) struct StepGraph {
    to: Vec<u32>,
    /// The places where the steps of each situation begin, and where the last ones end.
    from: Vec<u32>,
}

impl SearchSteps {
    /// Creates the steps of a search that knows where it begins.
    pub(super) fn new() -> SearchSteps {
        SearchSteps {
            bytes: Vec::new(),
            marks: Vec::new(),
            looked_at: 0,
            known: 1,
            steps: Vec::new(),
        }
    }

    /// A step of the situation that is looked at.
    pub(super) fn add(&mut self, event: u32, to: u32) {
        self.steps.push((event, to));
    }

    /// All steps of this situation were added.
    pub(super) fn end(&mut self) {
        if self.looked_at.is_multiple_of(STRIDE) {
            make_room(&mut self.marks, 1);
            self.marks.push((self.bytes.len(), self.known));
        }
        self.looked_at += 1;
        make_room(&mut self.bytes, 5 + 10 * self.steps.len());
        put(&mut self.bytes, self.steps.len() as u32);
        let mut next = 0;
        for (event, to) in self.steps.drain(..) {
            let is_other = event != next;
            put(
                &mut self.bytes,
                (self.known - to) << 1 | u32::from(is_other),
            );
            if is_other {
                put(&mut self.bytes, event);
            }
            next = event + 1;
            self.known += u32::from(to == self.known);
        }
    }

    /// Bytes of the tables.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.marks.capacity() * size_of::<(usize, u32)>()
    }

    /// The events that lead from the first situation to that one, each by its place among those that wait.
    pub(super) fn way(&self, mut to: u32) -> Vec<u32> {
        let mut way = Vec::new();
        while to > 0 {
            let mark = self.marks.partition_point(|(_, known)| *known <= to) - 1;
            let (from, known) = self.marks[mark];
            let first = (mark * STRIDE) as u32;
            let step = each(&self.bytes[from..], first, known).find(|step| step.2 == to);
            let Some((from, event, _)) = step else {
                break;
            };
            way.push(event);
            to = from;
        }
        way.reverse();
        way
    }

    /// All of them.
    pub(super) fn graph(&self) -> StepGraph {
        let (mut to, mut from) = (Vec::new(), vec![0]);
        for (situation, _, next) in each(&self.bytes, 0, 1) {
            from.resize(situation as usize + 1, to.len() as u32);
            to.push(next);
        }
        from.resize(self.known as usize + 1, to.len() as u32);
        StepGraph { to, from }
    }
}

/// The steps that are written there: from which situation, by which event, and to which one.
fn each(
    mut bytes: &[u8],
    first: u32,
    mut known: u32,
) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
    let (mut situation, mut left, mut next) = (first, take(&mut bytes), 0);
    std::iter::from_fn(move || {
        while left == 0 {
            if bytes.is_empty() {
                return None;
            }
            situation += 1;
            next = 0;
            left = take(&mut bytes);
        }
        left -= 1;
        let step = take(&mut bytes);
        let event = if step & 1 == 1 {
            take(&mut bytes)
        } else {
            next
        };
        next = event + 1;
        let to = known - (step >> 1);
        known += u32::from(to == known);
        Some((situation, event, to))
    })
}

impl StepGraph {
    fn len(&self) -> usize {
        self.from.len() - 1
    }

    pub(super) fn of(&self, situation: u32) -> &[u32] {
        let at = situation as usize;
        &self.to[self.from[at] as usize..self.from[at + 1] as usize]
    }

    /// The first situation that a way leads to from the first one without a goal on it, and from which no way leads to a goal. Where
    /// it `may_rest`, nothing has to lead on.
    pub(super) fn lost(
        &self,
        is_goal: impl Fn(u32) -> bool,
        may_rest: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let count = self.len() as u32;
        // Whether a way leads from there to a goal. A few times over all of them, until nothing changes: most steps lead on.
        let mut leads: Vec<bool> = (0..count).map(&is_goal).collect();
        let mut changes = true;
        while std::mem::take(&mut changes) {
            for at in (0..count).rev() {
                let is_open = !leads[at as usize] && !may_rest(at);
                let found = is_open && self.of(at).iter().any(|to| leads[*to as usize]);
                leads[at as usize] |= found;
                changes |= found;
            }
        }
        let mut reached = vec![false; count as usize];
        let mut way = vec![0];
        while let Some(at) = way.pop() {
            if !std::mem::replace(&mut reached[at as usize], true) && !is_goal(at) {
                way.extend(self.of(at));
            }
        }
        (0..count).find(|at| reached[*at as usize] && !leads[*at as usize])
    }

    /// The number of ways; none if some never end. One that is too large for its type is the largest.
    pub(super) fn orders(&self) -> Option<u128> {
        const ON_THE_WAY: u128 = u128::MAX;
        // No situation has none.
        let mut known = vec![0; self.len()];
        // A situation, and how many of its steps were gone.
        let mut way = vec![(0u32, 0usize)];
        known[0] = ON_THE_WAY;
        while let Some((at, gone)) = way.last_mut() {
            let steps = self.of(*at);
            match steps.get(*gone) {
                Some(&to) => {
                    *gone += 1;
                    match known[to as usize] {
                        0 => {
                            known[to as usize] = ON_THE_WAY;
                            way.push((to, 0));
                        }
                        ON_THE_WAY => return None,
                        _ => {}
                    }
                }
                None => {
                    let ways = steps.iter().map(|to| known[*to as usize]);
                    let sum = ways.fold(0u128, u128::saturating_add);
                    let most = ON_THE_WAY - 1;
                    known[*at as usize] = if steps.is_empty() { 1 } else { sum.min(most) };
                    way.pop();
                }
            }
        }
        Some(known[0])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn steps(all: &[&[u32]]) -> SearchSteps {
        let mut steps = SearchSteps::new();
        for to in all {
            (10..)
                .zip(*to)
                .for_each(|(event, to)| steps.add(event, *to));
            steps.end();
        }
        steps
    }

    fn orders(all: &[&[u32]]) -> Option<u128> {
        steps(all).graph().orders()
    }

    #[test]
    fn ways_are_counted_and_circles_have_none() {
        assert_eq!(orders(&[&[]]), Some(1));
        assert_eq!(orders(&[&[1, 2], &[3], &[3, 4], &[], &[3]]), Some(3));
        assert_eq!(orders(&[&[1], &[2], &[0]]), None);
        assert_eq!(orders(&[&[1, 2], &[], &[2]]), None);
        let wide: Vec<Vec<u32>> = (1..200u32).map(|n| vec![n, n]).chain([vec![]]).collect();
        let wide: Vec<&[u32]> = wide.iter().map(Vec::as_slice).collect();
        assert_eq!(orders(&wide), Some(u128::MAX - 1));
    }

    #[test]
    fn what_is_lost_leads_to_no_goal_and_none_led_to_it() {
        let lost = |all: &[&[u32]], goals: &[u32]| {
            steps(all).graph().lost(|at| goals.contains(&at), |_| false)
        };
        // An end, and a circle.
        assert_eq!(lost(&[&[1, 2], &[], &[]], &[1]), Some(2));
        assert_eq!(lost(&[&[1, 2], &[], &[2]], &[1]), Some(2));
        // A circle that can be left.
        assert_eq!(lost(&[&[1, 2], &[], &[0, 1]], &[1]), None);
        // Behind a goal nothing is lost, and the first may be one.
        assert_eq!(lost(&[&[1], &[2], &[]], &[1]), None);
        assert_eq!(lost(&[&[1], &[]], &[0]), None);
        assert_eq!(lost(&[&[1], &[]], &[]), Some(0));
        // Where it may stay.
        let graph = steps(&[&[1], &[2], &[]]).graph();
        assert_eq!(graph.lost(|at| at == 2, |at| at == 1), Some(0));
    }

    #[test]
    fn each_situation_has_the_way_by_which_it_was_met() {
        // Each leads back, and to two new ones.
        let tree: Vec<[u32; 3]> = (0..100u32).map(|n| [n / 2, 2 * n + 1, 2 * n + 2]).collect();
        let tree: Vec<&[u32]> = tree.iter().map(|to| &to[..]).collect();
        let steps = steps(&tree);
        for mut to in 0..200 {
            let way = steps.way(to);
            for event in way.into_iter().rev() {
                assert_eq!(event, if to % 2 == 1 { 11 } else { 12 });
                to = (to - 1) / 2;
            }
            assert_eq!(to, 0);
        }
        let graph = steps.graph();
        assert_eq!(
            (graph.of(0), graph.of(7), graph.of(150)),
            (&[0, 1, 2][..], &[3, 15, 16][..], &[][..])
        );
    }
}
