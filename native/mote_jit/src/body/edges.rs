//! Edges between blocks, and what registers hold at their ends; leaving, stopping, the end.
use super::{trusted, Body, Destination, Mode, Role};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Block, Inst, InstBuilder, Value};
use mote_vm::code::ir::{Label, Register};
use mote_vm::native::{entry::STOPPED, layout, Stop};
use mote_vm::values::value::Value as Word;

impl Body<'_, '_> {
    /// Returns the destination of a jump of the current body to a label.
    pub(super) fn to(&self, label: Label) -> Destination {
        match self.mode {
            Mode::Fast => Destination::Fast(label),
            Mode::Slow => Destination::Slow(label),
        }
    }

    /// Returns the destination for leaving the fast body: the slow one.
    pub(super) fn out(&self) -> Destination {
        debug_assert!(self.mode == Mode::Fast);
        Destination::Slow(self.active.resume)
    }

    pub(super) fn block_of(&mut self, target: Destination) -> Block {
        if let Some(group) = &self.unrolling.group {
            return group.given_up;
        }
        let (blocks, label) = match target {
            Destination::Fast(label) => (&mut self.active.fast, label),
            Destination::Slow(label) => (&mut self.active.slow, label),
            Destination::Stopped => return self.stopped,
        };
        if let Some(block) = blocks[label as usize] {
            return block;
        }
        let block = self.b.create_block();
        blocks[label as usize] = Some(block);
        if self.is_cold(target) {
            self.b.set_cold_block(block);
        }
        block
    }

    /// The registers that must be written as words on the way to a target.
    pub(super) fn missing(&self, target: Destination) -> Vec<Register> {
        let (label, known) = match target {
            Destination::Fast(label) => (label, self.active.flow.labels[label as usize].as_ref()),
            Destination::Slow(label) => (label, None),
            Destination::Stopped => return Vec::new(),
        };
        let live = self.active.flow.live[label as usize].iter();
        live.filter(|r| {
            let unboxed = known.is_some_and(|state| state.known(*r).unboxed);
            debug_assert!(!unboxed || self.active.here[*r as usize].float);
            !unboxed && !self.active.here[*r as usize].word
        })
        .collect()
    }

    /// Returns whether control can go there as it is.
    pub(super) fn is_ready(&self, target: Destination) -> bool {
        let pending = match target {
            Destination::Stopped => self.has_budget(),
            _ => self.positions.are_pending(),
        };
        self.unrolling.group.is_some()
            || self.missing(target).is_empty() && !pending && !self.goes_back(target)
    }

    /// Returns whether a target is an earlier instruction, which finds registers as they were.
    pub(super) fn goes_back(&self, target: Destination) -> bool {
        let resumes = matches!(target, Destination::Slow(label) if label == self.active.resume);
        resumes && self.mode == Mode::Fast && !self.before.is_empty()
    }

    /// Keeps a register, so that the slow body finds it as it is now when it takes over.
    pub(super) fn keep(&mut self, r: Register) {
        let read = self.active.flow.live[self.active.resume as usize]
            .iter()
            .any(|read| read == r);
        if !read || self.before.iter().any(|kept| kept.0 == r) {
            return;
        }
        let here = self.active.here[r as usize];
        let word = here
            .word
            .then(|| self.b.use_var(self.active.words[r as usize]));
        let float = here
            .float
            .then(|| self.b.use_var(self.active.floats[r as usize]));
        self.before.push((r, here, word, float));
    }

    pub(super) fn put_back(&mut self) {
        for i in 0..self.before.len() {
            let (r, here, word, float) = self.before[i];
            if let Some(word) = word {
                self.b.def_var(self.active.words[r as usize], word);
            }
            if let Some(float) = float {
                self.b.def_var(self.active.floats[r as usize], float);
            }
            self.active.here[r as usize] = here;
        }
    }

    /// Ends the current block by going to a target.
    pub(super) fn go(&mut self, target: Destination) {
        if self.goes_back(target) {
            self.put_back();
        }
        for r in self.missing(target) {
            self.word_of(r);
        }
        match target {
            Destination::Stopped => self.hand_over_budget(),
            _ => self.write_down(),
        }
        let block = self.block_of(target);
        self.b.ins().jump(block, &[]);
    }

    /// Goes to a target if the condition holds, and on in a new block otherwise.
    pub(super) fn leave_if(&mut self, condition: Value, target: Destination) {
        let next = self.next_block();
        let block = self.departure(target);
        self.b.ins().brif(condition, block, &[], next, &[]);
        self.depart(block, target);
        self.begin_block(next);
    }

    /// Goes on in a new block if the condition holds, and to a target otherwise.
    pub(super) fn leave_unless(&mut self, condition: Value, target: Destination) {
        let next = self.next_block();
        let block = self.departure(target);
        match self.is_cold(target) {
            true => self.b.ins().brif(condition, next, &[], block, &[]),
            false => self.go_on_if(condition, next, block),
        };
        self.depart(block, target);
        self.begin_block(next);
    }

    /// Goes to `next` if the condition holds, and to `other` otherwise. Cranelift places first what a branch goes to where its
    /// condition does not hold.
    pub(super) fn go_on_if(&mut self, condition: Value, next: Block, other: Block) -> Inst {
        let fails = self.b.ins().icmp_imm_s(IntCC::Equal, condition, 0);
        self.b.ins().brif(fails, other, &[], next, &[])
    }

    /// Returns whether control seldom goes to a target.
    fn is_cold(&self, target: Destination) -> bool {
        match target {
            Destination::Fast(label) => self.active.flow.aborts[label as usize],
            _ => true,
        }
    }

    /// Goes on in a block that nothing else leads to any more.
    pub(super) fn begin_block(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// Creates a block that is seldom come to.
    pub(super) fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// The block in which the current one goes on; cold if that is cold.
    pub(super) fn next_block(&mut self) -> Block {
        let next = self.b.create_block();
        let current = self.b.current_block();
        if current.is_some_and(|block| self.b.func.layout.is_cold(block)) {
            self.b.set_cold_block(next);
        }
        next
    }

    /// The target's block, or one of the way there if something must be converted on it, or registers may have to be moved:
    /// Cranelift would place its own block for that between the two that usually follow each other.
    pub(super) fn departure(&mut self, target: Destination) -> Block {
        if self.is_direct(target) {
            return self.block_of(target);
        }
        let block = self.next_block();
        if self.is_cold(target) {
            self.b.set_cold_block(block);
        }
        block
    }

    /// Returns whether a branch leads to the target itself.
    fn is_direct(&self, target: Destination) -> bool {
        let moves = matches!(target, Destination::Fast(_)) && self.unrolling.group.is_none();
        self.is_ready(target) && !moves
    }

    /// The way from a block of `departure` to the target.
    pub(super) fn depart(&mut self, block: Block, target: Destination) {
        if self.is_direct(target) {
            return;
        }
        self.begin_block(block);
        // What is written on the way is written only there.
        let here = self.active.here.clone();
        self.go(target);
        self.active.here = here;
    }

    /// The end of a turn, or of a call, that goes no further.
    pub(super) fn stop_here(&mut self) {
        self.positions.forget();
        self.b.switch_to_block(self.stopped);
        self.take_over_budget();
        match self.role {
            Role::Behaviour { .. } => self.end(STOPPED),
            Role::Function { .. } => {
                let none = self.b.ins().iconst(I64, 0);
                self.answer(none, None);
            }
        }
    }

    /// Ends a behaviour.
    pub(super) fn end(&mut self, how: u32) {
        self.write_down();
        if self.spends && (how == STOPPED || self.behind_calls[self.active.at as usize]) {
            self.write_fuel();
            // Somebody has to fill it up.
            let (turn, at) = (self.turn, layout::UNUSUAL);
            let unusual = self.b.ins().load(I32, trusted(), turn, at);
            let unusual = self.b.ins().bor_imm_s(unusual, i64::from(layout::SPENT));
            self.b.ins().store(trusted(), unusual, turn, at);
        }
        let how = self.b.ins().iconst(I32, i64::from(how));
        self.b.ins().return_(&[how]);
    }

    /// Says why the code stops. The caller goes to [`Destination::Stopped`].
    pub(super) fn halt(&mut self, stop: Stop, reason: Option<Value>) {
        let stop = self.b.ins().iconst(I32, stop as i64);
        self.b
            .ins()
            .store(trusted(), stop, self.turn, layout::HALT_STOP);
        if let Some(reason) = reason {
            self.b
                .ins()
                .store(trusted(), reason, self.turn, layout::HALT_REASON);
        }
    }

    /// Stops for that reason if the condition holds.
    pub(super) fn abort_if(&mut self, condition: Value, reason: Word) {
        let (stop, next) = (self.cold_block(), self.next_block());
        self.b.ins().brif(condition, stop, &[], next, &[]);
        self.begin_block(stop);
        let reason = self.literal(reason);
        self.halt(Stop::Aborted, Some(reason));
        self.go(Destination::Stopped);
        self.begin_block(next);
    }
}
