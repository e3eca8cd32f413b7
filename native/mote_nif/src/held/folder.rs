//! Folders of durable machines: each belongs to one machine.
use crate::term::atoms::names;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::machine::durable::said;
use rustler::{Encoder, Env, Term};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// A folder that is one machine's until it is released, or this goes.
pub struct FolderLock(File);

impl FolderLock {
    /// Lets another machine have it, whoever refers to this.
    pub fn release(&self) {
        // It goes with the file in any case.
        let _ = self.0.unlock();
    }
}

impl Resource for FolderLock {}

resource_type!(FolderLock);

/// Locks the file of that name, and writes `who` has done so: `{:ok, lock}`, `{:taken, who}` or `{:error, text}`.
pub fn lock<'a>(env: Env<'a>, path: &Path, who: &str) -> Term<'a> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => return (names::error(), said(&error)).encode(env),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut other = String::new();
            let _ = file.read_to_string(&mut other);
            return (names::taken(), other).encode(env);
        }
        Err(TryLockError::Error(error)) => return (names::error(), said(&error)).encode(env),
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(who.as_bytes()));
    match written {
        Ok(()) => (names::ok(), ResourceArc::new(FolderLock(file))).encode(env),
        Err(error) => (names::error(), said(&error)).encode(env),
    }
}
