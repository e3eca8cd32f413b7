//! The number of orders that a search stands for: the ways from the first situation to one at rest.
use super::seen::KnownSituations;

/// The steps between situations, in the order in which these were looked at: by their numbers.
#[derive(Default)]
pub(super) struct SearchSteps {
    to: Vec<u32>,
    /// Where the steps of each situation begin.
    from: Vec<u32>,
}

impl SearchSteps {
    /// The next situation is looked at: the steps that come belong to it.
    pub(super) fn begin(&mut self) {
        self.from.push(self.to.len() as u32);
    }

    pub(super) fn add(&mut self, to: u32) {
        self.to.push(to);
    }

    /// Bytes of the tables.
    pub(super) fn bytes(&self) -> usize {
        (self.to.capacity() + self.from.capacity()) * size_of::<u32>()
    }

    fn of(&self, situation: u32) -> &[u32] {
        let at = situation as usize;
        let Some(&from) = self.from.get(at) else {
            return &[];
        };
        let to = self
            .from
            .get(at + 1)
            .map_or(self.to.len(), |next| *next as usize);
        &self.to[from as usize..to]
    }

    /// The number of ways; none if some never end. One that is too large for its type is the largest.
    pub(super) fn orders(&self, seen: &KnownSituations) -> Option<u128> {
        const ON_THE_WAY: u128 = u128::MAX;
        // No situation has none.
        let mut known = vec![0; seen.len()];
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
    use super::super::seen::SearchStep;
    use super::*;

    fn orders(steps: &[&[u32]]) -> Option<u128> {
        let (mut seen, mut all) = (KnownSituations::new(), SearchSteps::default());
        for (n, to) in steps.iter().enumerate() {
            seen.meet(n as u128, SearchStep { from: 0, event: 0 });
            all.begin();
            to.iter().for_each(|to| all.add(*to));
        }
        all.orders(&seen)
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
}
