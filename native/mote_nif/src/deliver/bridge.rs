//! The reports of a machine to the process that answers for it.
use crate::deliver::desk;
use crate::deliver::message::post;
use crate::held::bridge::{pin, Bridge};
use crate::held::foreign;
use crate::held::question::Customer;
use crate::term::atoms::{self, names};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::machine::{Abort, Embedder, Fault, Machine, TurnAway};
use mote_vm::{Term as VmTerm, View};
use rustler::types::tuple::make_tuple;
use rustler::Encoder;

impl Embedder for Bridge {
    fn aborted(&self, machine: &Machine, abort: Abort<'_>) -> bool {
        if let Some(customer) = foreign::customer_of(abort.message) {
            customer.aborted(machine, &abort);
        }
        if matches!(abort.reason.view(), View::Atom(VmAtom::NO_MEMORY)) {
            self.lost.count(abort.module, abort.behaviour);
        }
        if !self.reports.take() {
            return false;
        }
        let Some(resource) = pin(machine) else {
            return false;
        };
        post(&resource.owner, |env, decoder| {
            let reason = decoder.reason(env, machine, abort.reason);
            let message = decoder.glance(env, machine, abort.message);
            let [sponsor, module, behaviour] = [abort.sponsor, abort.module, abort.behaviour]
                .map(|atom| atoms::to_term(env, atom));
            let about = [sponsor, module, behaviour, reason, message];
            (names::aborted(), make_tuple(env, &about)).encode(env)
        })
    }

    fn ignored(&self, message: VmTerm<'_>, behaviour: (VmAtom, VmAtom)) {
        if let Some(customer) = foreign::customer_of(message) {
            customer.ignored(behaviour);
        }
    }

    fn fault(&self, machine: &Machine, fault: Fault) {
        let Some(resource) = pin(machine) else {
            return;
        };
        post(&resource.owner, |env, _| {
            let behaviour = fault
                .behaviour
                .map(|(module, name)| (atoms::to_term(env, module), atoms::to_term(env, name)));
            let sponsor = atoms::to_term(env, fault.sponsor);
            (
                names::fault(),
                sponsor,
                behaviour,
                fault.message_kind,
                fault.text,
            )
                .encode(env)
        });
    }

    fn is_killed(&self, message: VmTerm<'_>) -> bool {
        foreign::customer_of(message).is_some_and(Customer::is_killed)
    }

    fn newest_question(&self) -> Option<u64> {
        self.questions.newest()
    }

    fn begin_turn(&self, machine: &Machine, turn: TurnAway<'_>) {
        desk::begin(self, machine, turn);
    }

    fn call_off(&self, sponsor: VmAtom) {
        self.close_desk(sponsor);
    }
}
