//! Images of machines.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::held::machine::MachineResource;
use crate::look::image::{self, ImageResource};
use crate::look::migration::{abandon, migrated, MigrationResource};
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use rustler::{Atom, Binary, Encoder, Env, Term};
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
    image::save(env, machine, path, (named, kept), |_| None, tag)
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

/// Lets a machine go on from an image, which has done nothing yet. Returns the asker's side of a question; the answer is `{:ok, names}`,
/// `:stopped`, `:no_memory`, `{:error, text}`, or `{:migrate, end, [{number, captures}]}`, where actors have a behaviour of one of the
/// first numbers of `migrating`: then `image_migrated` answers. Those with a behaviour of the others take up its present version. Values with the `numbers`, which are not in the image, are what `resolved` says, a
/// tuple of as many.
#[allow(clippy::too_many_arguments)] // What a NIF takes.
#[rustler::nif(schedule = "DirtyCpu")]
fn image_restore<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    image: ResourceArc<ImageResource>,
    numbers: Vec<u32>,
    resolved: Term<'a>,
    kept: Term<'a>,
    migrating: (Vec<u32>, Vec<u32>),
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    let mut writer = Writer::new(&resource, running, WriteMode::dirty(kept));
    match writer.term(resolved) {
        Ok(()) => {
            let resolved = (numbers, writer.builder.finish());
            image::restore(env, machine, image, resolved, migrating, tag)
        }
        Err(why) => Atom::from(why).encode(env),
    }
}

/// Says what the actors of a batch become, in their order: `:keep` or `{module, name, version, captures}`. Returns what `image_restore`
/// does, or at once `{:ok, {word, position}}` where that cannot be.
#[rustler::nif(schedule = "DirtyCpu")]
fn image_migrated<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    end: &MigrationResource,
    answers: Vec<Term<'a>>,
    kept: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    migrated(env, (machine, end), &answers, WriteMode::dirty(kept), tag)
}

/// Says that there are no more answers: the machine does not go on.
#[rustler::nif]
fn image_abandon(end: &MigrationResource) -> Atom {
    abandon(end);
    names::ok()
}
