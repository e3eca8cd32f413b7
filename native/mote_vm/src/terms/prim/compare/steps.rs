//! What a comparison of any depth has looked at, which it tells the work now and then.
use crate::base::work::{Over, Work};

/// Steps that were paid for before between two looks at the work.
const PAID: isize = 1 << 10;

/// Elements that a comparison has looked at.
pub(super) struct Steps<'w> {
    pub(super) work: &'w mut Work,
    /// Somebody has paid for them before.
    paid: bool,
    /// Elements that the work knows, the others, and how many of these there may be. The first pair is no element of anything.
    reported: usize,
    more: isize,
    most: isize,
}

impl Steps<'_> {
    pub(super) fn new(work: &mut Work, paid: bool) -> Steps<'_> {
        let most = Steps::room(work, paid);
        Steps {
            work,
            paid,
            reported: 0,
            more: -1,
            most,
        }
    }

    /// Returns the number of steps to the next look at the work.
    fn room(work: &Work, paid: bool) -> isize {
        match paid {
            true => PAID,
            false => isize::try_from(work.room()).unwrap_or(isize::MAX),
        }
    }

    #[inline(always)]
    pub(super) fn take(&mut self, steps: usize) -> Result<(), Over> {
        self.more = self.more.saturating_add_unsigned(steps);
        match self.more <= self.most {
            true => Ok(()),
            false => self.report_steps(),
        }
    }

    /// Tells the work.
    #[inline(never)]
    pub(super) fn report_steps(&mut self) -> Result<(), Over> {
        let steps = usize::try_from(std::mem::take(&mut self.more)).unwrap_or(0);
        self.reported = self.reported.saturating_add(steps);
        match self.paid {
            true => self.work.pass(steps)?,
            false => self.work.count(steps)?,
        }
        self.most = Steps::room(self.work, self.paid);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn looked_at(&self) -> usize {
        self.reported.saturating_add_signed(self.more)
    }
}
