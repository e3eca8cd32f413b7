//! Remarks about the native code of a unit.
use crate::term::atoms::names;
use mote_jit::{Topic, What};
use mote_vm::code::decode::decode;
use mote_vm::code::verify::verify;
use rustler::{Binary, Encoder, Env, Term};

/// The remarks on a unit, each `{code, about, what}`: its functions count first, then its behaviours. `about` is
/// `{primitive, instruction}` or the number of a parameter. `{:error, text}` if it is not a unit.
#[rustler::nif(schedule = "DirtyCpu")]
fn unit_remarks<'a>(env: Env<'a>, unit: Binary<'a>) -> Term<'a> {
    let read = decode(&unit).and_then(|unit| verify(&unit).map(|verified| (unit, verified)));
    let (unit, verified) = match read {
        Ok(read) => read,
        Err(error) => return (names::error(), error.to_string()).encode(env),
    };
    let remarks: Vec<Term<'a>> = mote_jit::remarks(&verified, &unit)
        .into_iter()
        .map(|remark| {
            let about = match remark.about {
                Topic::Operation(primitive, at) => (primitive.name(), at).encode(env),
                Topic::Parameter(number) => number.encode(env),
            };
            let what = match remark.what {
                What::Asks => names::asks(),
                What::TakesForInteger => names::takes_for_integer(),
                What::TakesForFloat => names::takes_for_float(),
                What::FindsOut => names::finds_out(),
            };
            (remark.code, about, what).encode(env)
        })
        .collect();
    remarks.encode(env)
}
