//! Searching through all orders of turns.
use crate::deliver::message::post;
use crate::enter::question::inquiry;
use crate::held::machine::MachineResource;
use crate::held::search::SearchResource;
use crate::look::proof::{plan, progress, ActorsTerm, LimitsTerm};
use crate::term::atoms::names;
use crate::term::resource::{self, ResourceArc};
use mote_vm::prove::NoSearch;
use parking_lot::Mutex;
use rustler::{Encoder, Env, Term};
use std::time::Duration;

/// Begins a search in a paused seeded machine, or goes on with one, for so many milliseconds: `{search, over, counts, found,
/// left_out}`; or `:too_large` if the machine holds more than a search can, `:unknown` if an actor is none of the machine's. `goals`:
/// of each `:goal` that was found last whether it is one.
#[rustler::nif]
fn machine_prove<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    search: Term<'a>,
    (bounds, actors): (LimitsTerm, ActorsTerm<'a>),
    goals: Vec<bool>,
    milliseconds: u64,
    tag: Term<'a>,
) -> Term<'a> {
    let running = resource::get(machine).and_then(MachineResource::running);
    let Some(running) = running else {
        return names::stopped().encode(env);
    };
    let known: Option<&SearchResource> = resource::get(search);
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let search = match known.map(|known| known.0.lock().take()) {
            None => Err(plan(bounds, &actors).ok_or(names::unknown())?),
            Some(Some(mut search)) => {
                search.learn(&goals);
                Ok(search)
            }
            Some(None) => return Err(names::busy()),
        };
        let slice = Duration::from_millis(milliseconds);
        running.prove(
            search,
            slice,
            Box::new(move |went_on| {
                if !customer.claim() {
                    return;
                }
                post(customer.pid(), |env, _| {
                    let answer = match went_on {
                        Err(NoSearch::TooLarge) => names::too_large().encode(env),
                        Err(NoSearch::Unknown) => names::unknown().encode(env),
                        Ok((search, how)) => {
                            let search = SearchResource(Mutex::new(Some(search)));
                            let search = ResourceArc::new(search).encode(env);
                            progress(env, search, &how)
                        }
                    };
                    customer.tagged(env, answer)
                });
            }),
        );
        Ok(())
    })
}
