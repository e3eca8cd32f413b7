//! Images of machines.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::held::machine::MachineResource;
use crate::look::image::{self, ImageResource};
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use rustler::{Binary, Encoder, Env, Term};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Saves an image in a file of that name, with what is named in it. Returns the asker's side of a question; the answer is
/// `{:ok, {bytes, microseconds, about}}` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyCpu")]
fn image_save<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    path: Binary<'a>,
    named: Term<'a>,
    kept: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    let mut writer = Writer::new(&resource, running, WriteMode::dirty(kept));
    match writer.all(&[named]) {
        Ok(()) => {
            let named = writer.builder.finish();
            let path = OsStr::from_bytes(path.as_slice()).into();
            let identity = resource.identity.lock().clone();
            image::save(env, (machine, running), path, (named, identity), tag)
        }
        Err(why) => rustler::Atom::from(why).encode(env),
    }
}

/// Opens an image, if there are no more than so many atoms afterwards; and how many the node has now. `{:ok, image, about, [{module,
/// hash}]}` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn image_open<'a>(env: Env<'a>, path: Binary<'a>, atoms: (usize, usize)) -> Term<'a> {
    image::open(env, OsStr::from_bytes(path.as_slice()).into(), atoms)
}

/// Loads the code of that number: `:ok`, `:stopped` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyCpu")]
fn image_load<'a>(
    env: Env<'a>,
    machine: &MachineResource,
    image: &ImageResource,
    number: usize,
) -> Term<'a> {
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    let _one_at_a_time = machine.loading.lock();
    image::load(env, running, image, number)
}

/// Each value that is not in an image: `[{number, {kind, behaviour, held, 1}, {value, here} or nil}]`. `here` says whether this system
/// process has written it.
#[rustler::nif(schedule = "DirtyCpu")]
fn image_lost<'a>(env: Env<'a>, image: &ImageResource) -> Term<'a> {
    image::lost_values(env, image)
}

/// Lets a machine go on from an image, which has done nothing yet: `{:ok, names}`, `:stopped`, `:no_memory` or `{:error, text}`. Values with
/// these numbers, which are not in it, are what `resolved` says, a tuple of as many.
#[rustler::nif(schedule = "DirtyCpu")]
fn image_restore<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    image: &ImageResource,
    numbers: Vec<u32>,
    resolved: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    let mut writer = Writer::new(&machine, running, WriteMode::dirty(kept));
    match writer.term(resolved) {
        Ok(()) => {
            let resolved = (&numbers[..], writer.builder.finish());
            image::restore(env, (&machine, running), image, resolved)
        }
        Err(why) => rustler::Atom::from(why).encode(env),
    }
}
