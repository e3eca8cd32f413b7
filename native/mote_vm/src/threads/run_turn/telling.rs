//! What a turn that commits tells the outside: its messages, in the order in which they were sent.
//!
//! Consecutive messages to one target are one delivery, and so is one message to several processes: it need not be made for each of
//! them.
use super::Dispatch;
use crate::base::counters::Counts;
use crate::base::lent::Lender;
use crate::terms::written::exceeds;
use crate::threads::thread_context::ThreadContext;
use crate::turns::queue::Event;
use crate::values::foreign::{Class, Delivery, Messages, Outgoing};
use crate::values::term::Term;
use crate::values::value::Value;
use std::sync::Arc;

impl Dispatch {
    /// The rest of a commit: timers and deliveries.
    #[cold]
    pub(crate) fn commit_outgoing(&mut self) {
        // Before a reference can leave: it must say where its timer is.
        self.commit_timers();
        if self.turn.at_commit.outgoing.is_empty() {
            return;
        }
        // Whoever gets a message can read what had been done by then.
        self.publish_counters();
        let mut outgoing = std::mem::take(&mut self.turn.at_commit.outgoing);
        if self.context.machine.journal().is_some() {
            self.note_told(&mut outgoing);
        }
        let mut rest = outgoing.as_slice();
        while let Some((first, others)) = rest.split_first() {
            let goes_on = |next: &Outgoing| next.target == first.target;
            let to_each = others
                .first()
                .is_some_and(|next| !goes_on(next) && tell_the_same(first, next));
            let joins = |next: &&Outgoing| match to_each {
                true => tell_the_same(first, next),
                false => goes_on(next),
            };
            let (run, later) = rest.split_at(1 + others.iter().take_while(joins).count());
            match to_each {
                true => self.deliver_to_each(run),
                false => self.deliver_run(run),
            }
            rest = later;
        }
        outgoing.clear();
        self.turn.at_commit.outgoing = outgoing;
        // The turn is committed: what it sent stays.
        self.turn.queue.forgive();
    }

    /// Delivers consecutive messages to one target.
    fn deliver_run(&mut self, run: &[Outgoing]) {
        let Some(Outgoing { target, .. }) = run.first() else {
            return;
        };
        if target.is_address() {
            for outgoing in run {
                let event = Event {
                    target: target.address_pointer(),
                    message: outgoing.message,
                };
                self.send_by(outgoing.sponsor, event);
            }
            return;
        }
        let Dispatch { context, turn, .. } = self;
        let counts = &mut turn.counts;
        let Some(foreign) = target.as_foreign() else {
            counts.dropped += run.len() as u64;
            return;
        };
        let mut rest = run;
        while !rest.is_empty() {
            let too_large = rest.iter().position(|out| is_too_large(context, out));
            let (now, later) = rest.split_at(too_large.unwrap_or(rest.len()));
            if !now.is_empty() {
                let told = &mut |delivery, count| tally(counts, delivery, count);
                foreign.deliver_all(Messages(now.iter()), &context.machine, told);
                if let Some(holding) = foreign.holding() {
                    holding.count_held(context.sponsor.room.clone());
                }
            }
            let Some((_, behind)) = later.split_first() else {
                return;
            };
            counts.overflowed += 1;
            foreign.too_large(&context.machine);
            rest = behind;
        }
    }

    /// Delivers one message to several processes.
    fn deliver_to_each(&mut self, run: &[Outgoing]) {
        let Some((first, target)) = run
            .first()
            .and_then(|out| Some((out, out.target.as_foreign()?)))
        else {
            return;
        };
        let Dispatch { context, turn, .. } = self;
        let counts = &mut turn.counts;
        if is_too_large(context, first) {
            counts.overflowed += run.len() as u64;
            return;
        }
        let targets = &mut run.iter().filter_map(|out| out.target.as_foreign());
        let message = Term::new(first.message);
        let told = &mut |delivery, count| tally(counts, delivery, count);
        target.deliver_to_each(targets, message, &context.machine, told);
    }
}

/// Returns whether two messages are the same, each to a process: one value, or two tuples of the same elements, as they are where each
/// send of a loop makes one.
fn tell_the_same(a: &Outgoing, b: &Outgoing) -> bool {
    let is_same = a.message == b.message
        || a.message
            .as_tuple()
            .is_some_and(|elements| b.message.as_tuple() == Some(elements));
    let is_pid = |out: &Outgoing| out.target.foreign_class() == Some(Class::Pid);
    is_same && is_pid(a) && is_pid(b)
}

/// Returns whether a message is not delivered, for it is too large. To be asked before anything of it is written: that could take more
/// memory than there is (terms/written.rs).
fn is_too_large(context: &ThreadContext, out: &Outgoing) -> bool {
    let words = || context.machine.pool().quota.held() / size_of::<Value>();
    let lender = || Some(context.machine.shared_pool() as Arc<dyn Lender>);
    exceeds(out.message, words, lender)
}

/// Counts what became of messages to the outside.
fn tally(counts: &mut Counts, delivery: Delivery, count: u64) {
    *match delivery {
        Delivery::Done => &mut counts.foreign_out,
        Delivery::Dead => &mut counts.undelivered,
        Delivery::Full => &mut counts.overflowed,
        Delivery::NoAddress => &mut counts.dropped,
    } += count;
}
