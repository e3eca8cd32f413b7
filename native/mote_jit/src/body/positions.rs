//! Where the next cell, the next actor and the next event go: in machine registers from where they are first needed until other
//! code may look at the turn.
//!
//! Invariants:
//! 1. A position that is `held` is in its variables, on every path to the current point. One that has `moved` may differ
//!    from the turn's field.
//! 2. The fields are right wherever anything but the code at hand reads them: in helpers, in calls, at labels, at the end of
//!    the turn. A turn that stops is undone, so there they need not be.
//! 3. The ends of the free memory only change in helpers and calls.
use super::{trusted, Body};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use mote_vm::native::layout;

/// The position of the next cell, actor or event.
pub(super) struct CachedPosition {
    next: Variable,
    end: Variable,
    field: i32,
    end_field: i32,
    held: bool,
    moved: bool,
}

impl CachedPosition {
    fn new(b: &mut FunctionBuilder<'_>, field: i32, end_field: i32) -> CachedPosition {
        CachedPosition {
            next: b.declare_var(I64),
            end: b.declare_var(I64),
            field,
            end_field,
            held: false,
            moved: false,
        }
    }
}

/// All positions, and the number of actors created since they were last written down.
pub(super) struct Positions {
    cells: CachedPosition,
    actors: CachedPosition,
    queue: CachedPosition,
    creates: i64,
}

/// The kind of a position.
#[derive(Clone, Copy)]
pub(super) enum PositionIn {
    Cells,
    Actors,
    Queue,
}

impl PositionIn {
    const ALL: [PositionIn; 3] = [PositionIn::Cells, PositionIn::Actors, PositionIn::Queue];
}

impl Positions {
    pub(super) fn new(b: &mut FunctionBuilder<'_>) -> Positions {
        Positions {
            cells: CachedPosition::new(b, layout::HEAP_NEXT, layout::HEAP_END),
            actors: CachedPosition::new(b, layout::NEXT_ACTOR, layout::END_OF_ACTORS),
            queue: CachedPosition::new(b, layout::QUEUE_TAIL, layout::QUEUE_TAIL_END),
            creates: 0,
        }
    }

    fn at(&mut self, place: PositionIn) -> &mut CachedPosition {
        match place {
            PositionIn::Cells => &mut self.cells,
            PositionIn::Actors => &mut self.actors,
            PositionIn::Queue => &mut self.queue,
        }
    }

    /// Returns whether something must be written down before others look.
    pub(super) fn are_pending(&self) -> bool {
        self.cells.moved || self.actors.moved || self.queue.moved || self.creates > 0
    }

    /// Forgets all positions, at a label: nothing is held, and nothing is pending.
    pub(super) fn forget(&mut self) {
        for position in [&mut self.cells, &mut self.actors, &mut self.queue] {
            position.held = false;
            position.moved = false;
        }
        self.creates = 0;
    }

    pub(super) fn count_create(&mut self) {
        self.creates += 1;
    }
}

impl Body<'_, '_> {
    /// The position and the end of its room.
    pub(super) fn position(&mut self, place: PositionIn) -> (Value, Value) {
        let position = self.positions.at(place);
        let (next, end) = (position.next, position.end);
        if !std::mem::replace(&mut position.held, true) {
            self.read_position(place);
        }
        (self.b.use_var(next), self.b.use_var(end))
    }

    pub(super) fn move_position(&mut self, place: PositionIn, to: Value) {
        let position = self.positions.at(place);
        position.moved = true;
        self.b.def_var(position.next, to);
    }

    fn read_position(&mut self, place: PositionIn) {
        let turn = self.turn;
        let position = self.positions.at(place);
        let read = |b: &mut FunctionBuilder<'_>, field| b.ins().load(I64, trusted(), turn, field);
        let next = read(&mut self.b, position.field);
        self.b.def_var(position.next, next);
        let end = read(&mut self.b, position.end_field);
        self.b.def_var(position.end, end);
    }

    /// Writes down where the positions are, for a helper. They stay in their variables.
    pub(super) fn write_positions(&mut self) {
        for place in PositionIn::ALL {
            let position = self.positions.at(place);
            if position.moved {
                let next = self.b.use_var(position.next);
                let (turn, field) = (self.turn, position.field);
                self.b.ins().store(trusted(), next, turn, field);
            }
        }
    }

    /// Reads the positions again, after a helper.
    pub(super) fn read_positions(&mut self) {
        for place in PositionIn::ALL {
            if self.positions.at(place).held {
                self.read_position(place);
            }
        }
    }

    /// Writes everything down, on the way to where others look. What is known of the point that the way starts from stays
    /// as it is.
    pub(super) fn write_down(&mut self) {
        self.write_positions();
        if self.positions.creates > 0 {
            let (turn, creates) = (self.turn, self.positions.creates);
            let count = self.b.ins().load(I64, trusted(), turn, layout::CREATES);
            let count = self.b.ins().iadd_imm_s(count, creates);
            self.b.ins().store(trusted(), count, turn, layout::CREATES);
        }
    }

    /// Writes everything down before a call, after which nothing is held.
    pub(super) fn let_go_of_positions(&mut self) {
        self.write_down();
        self.positions.forget();
    }
}
