//! Atoms: terms of the BEAM and numbers of the machine, both ways.
//!
//! An atom's term is one word that is valid in every environment, forever. The two tables below only grow; in front of each,
//! every thread keeps the pairs that it used last.
use crate::term::read::word_of;
use mote_vm::base::atom::Atom as VmAtom;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use rustler::sys::{enif_binary_to_term, enif_term_to_binary, ErlNifTerm};
use rustler::types::atom::Atom;
use rustler::{Decoder, Env, Error, NifResult, OwnedBinary, Term};
use std::cell::Cell;
use std::mem::MaybeUninit;

/// Atoms that the NIF itself says or looks for.
pub mod names {
    rustler::atoms! {
        ok,
        error,
        durable,
        absent,
        other_kind,
        none,
        sent,
        not_durable,
        batch,
        os,
        taken,
        asks,
        takes_for_integer,
        takes_for_float,
        finds_out,
        nil,
        __struct__,
        address = "Elixir.Mote.Address",
        shared = "Elixir.Mote.Shared",
        value,
        behaviour = "Elixir.Mote.Behaviour",
        module,
        name,
        version,
        captures,
        function = "Elixir.Mote.Function",
        arity,
        customer = "Elixir.Mote.Customer",
        timer = "Elixir.Mote.Timer",
        uncommitted = "Elixir.Mote.Uncommitted",
        outbox = "Elixir.Mote.Outbox",
        wake_up = "mote_outbox",
        comes = "mote_turn",
        watch = "mote_watch",
        sweep = "mote_sweep",
        monitor,
        workers = "mote_workers",
        wait,
        here,
        ignored,
        left,
        infinity,
        create,
        send,
        sendx,
        send_after,
        cancel_timer,
        id,
        address_key = "address",
        reference_address = "Elixir.Mote.Reference.Address",
        reference_on = "Elixir.Mote.Reference.On",
        misplaced = "beam_only",
        no_io,
        no_tls,
        bad_tls,
        socket,
        several_io,
        mail = "mote_mail",
        abroad = "mote_abroad",
        dropped = "mote_dropped",
        enough,
        empty,
        machine,
        key,
        sponsor,
        reference = "ref",
        big,
        long,
        load,
        stopped,
        stopping,
        overloaded,
        manual,
        interp,
        native,
        system,
        standing,
        moving,
        malformed,
        unknown,
        unstash,
        closed,
        no_memory,
        full,
        full_wait,
        no_sponsor,
        first_sponsor,
        sponsor_exists,
        failed = "mote_failed",
        broken_promise,
        answer_too_large,
        killed,
        open,
        future_failed = "failed",
        was_aborted = "aborted",
        machine_down,
        aborted = "mote_aborted",
        fault = "mote_fault",
        more = "...",
        anything = "_",
        trace = "mote_trace",
        turn = "Elixir.Mote.Trace.Turn",
        limit,
        ended,
        idle,
        running,
        many_threads,
        no_pattern,
        number,
        actor,
        behaviour_key = "behaviour",
        message,
        migrate,
        outcome,
        commit,
        abort,
        sends,
        creates,
        timers,
        cancels,
        become_ = "become",
        omitted,
        fuel,
        more_left = "more",
        other,
        sink,
        safe,
        busy,
        held,
        not_held,
        stale,
        too_large,
        state,
        later = "timer",
        rest,
        always,
        goal,
        eventually,
        was_dropped = "dropped",
        answered_again,
        unanswered,
        stashed,
        states,
        depth,
        memory,
        size,
        random,
        clock,
        integer,
        function_kind = "function",
        port,
        pid,
        map,
        bitstring,
        reference_kind = "reference",
    }
}

const CACHED: usize = 256;

thread_local! {
    static BY_TERM: [Cell<(usize, VmAtom)>; CACHED] =
        const { [const { Cell::new((0, VmAtom::NIL)) }; CACHED] };
    static BY_NUMBER: [Cell<(usize, VmAtom)>; CACHED] =
        const { [const { Cell::new((0, VmAtom::NIL)) }; CACHED] };
}

struct AtomTerms {
    by_term: FxHashMap<usize, VmAtom>,
    /// Words of terms by the atom's number; 0 where the term is not known yet.
    terms: Vec<usize>,
}

static TABLE: RwLock<Option<AtomTerms>> = RwLock::new(None);

fn term(word: usize) -> ErlNifTerm {
    // SAFETY: ErlNifTerm is a transparent wrapper of one word; this one came from an atom's term.
    unsafe { std::mem::transmute::<usize, ErlNifTerm>(word) }
}

/// An argument that is an atom.
#[derive(Clone, Copy)]
pub struct Name(pub VmAtom);

impl<'a> Decoder<'a> for Name {
    fn decode(term: Term<'a>) -> NifResult<Name> {
        match AtomCache::here().number(term) {
            Some(number) => Ok(Name(number)),
            None if term.is_atom() => Ok(Name(number(term))),
            None => Err(Error::BadArg),
        }
    }
}

/// The cache of this thread, kept at hand. In a library, finding a thread-local takes longer than looking into it.
#[derive(Clone, Copy)]
pub struct AtomCache(*const [Cell<(usize, VmAtom)>; CACHED]);

impl AtomCache {
    /// Returns the cache of the calling thread. It stays on that thread.
    pub fn here() -> AtomCache {
        AtomCache(BY_TERM.with(|cache| cache as *const _))
    }

    /// The machine's atom of a term, if it is an atom that was met lately. No other term has the same word.
    #[inline(always)]
    pub fn number(self, term: Term<'_>) -> Option<VmAtom> {
        let word = word_of(term.as_c_arg());
        // SAFETY: thread-locals that need no destructor live as long as their thread, where this stays.
        let (known, number) = unsafe { &*self.0 }[(word >> 6) % CACHED].get();
        (known == word).then_some(number)
    }
}

/// The machine's atom of a term that must be an atom.
pub fn number(atom: Term<'_>) -> VmAtom {
    let word = word_of(atom.as_c_arg());
    // Atoms are distinct from the sixth bit on.
    BY_TERM.with(|cache| {
        let slot = &cache[(word >> 6) % CACHED];
        let (known, number) = slot.get();
        if known == word {
            return number;
        }
        let number = number_of(atom, word);
        slot.set((word, number));
        number
    })
}

#[cold]
fn number_of(atom: Term<'_>, word: usize) -> VmAtom {
    if let Some(table) = &*TABLE.read() {
        if let Some(known) = table.by_term.get(&word) {
            return *known;
        }
    }
    let number = VmAtom::new(&name(atom));
    remember(number, word);
    number
}

fn remember(number: VmAtom, word: usize) {
    let mut table = TABLE.write();
    let table = table.get_or_insert_with(|| AtomTerms {
        by_term: FxHashMap::default(),
        terms: Vec::new(),
    });
    let id = number.id() as usize;
    if table.terms.len() <= id {
        table.terms.resize(id + 1, 0);
    }
    table.terms[id] = word;
    table.by_term.insert(word, number);
}

/// The term of the machine's atom.
pub fn to_term<'a>(env: Env<'a>, atom: VmAtom) -> Term<'a> {
    let word = BY_NUMBER.with(|cache| {
        let slot = &cache[atom.id() as usize % CACHED];
        let (word, known) = slot.get();
        // No term is the word 0.
        if known == atom && word != 0 {
            return word;
        }
        let word = term_of(env, atom);
        slot.set((word, atom));
        word
    });
    // SAFETY: atom terms belong to every environment.
    unsafe { Term::new(env, term(word)) }
}

#[cold]
fn term_of(env: Env<'_>, atom: VmAtom) -> usize {
    if let Some(table) = &*TABLE.read() {
        match table.terms.get(atom.id() as usize) {
            Some(&word) if word != 0 => return word,
            _ => {}
        }
    }
    let word = word_of(make(env, atom.name()));
    remember(atom, word);
    word
}

/// The text of an atom. The API of NIF 2.16 reads Latin-1 only; other atoms are read in the external format.
fn name(atom: Term<'_>) -> String {
    if let Ok(text) = atom.atom_to_string() {
        return text;
    }
    let mut binary = MaybeUninit::uninit();
    // SAFETY: any term can be written in the external format; on success the binary is ours.
    let bytes = unsafe {
        match enif_term_to_binary(
            atom.get_env().as_c_arg(),
            atom.as_c_arg(),
            binary.as_mut_ptr(),
        ) {
            0 => return String::new(),
            _ => OwnedBinary::from_raw(binary.assume_init()),
        }
    };
    // 131, then 119 and one byte of length or 118 and two.
    let text = match bytes.as_slice() {
        [131, 119, _, text @ ..] | [131, 118, _, _, text @ ..] => text,
        _ => &[],
    };
    String::from_utf8_lossy(text).into_owned()
}

fn make(env: Env<'_>, name: &str) -> ErlNifTerm {
    if let Ok(atom) = Atom::from_str(env, name) {
        return atom.as_c_arg();
    }
    let length = (name.len() as u16).to_be_bytes();
    let mut bytes = vec![131, 118, length[0], length[1]];
    bytes.extend_from_slice(name.as_bytes());
    let mut made = MaybeUninit::uninit();
    // SAFETY: the bytes are read within their length; `made` is written on success.
    unsafe {
        match enif_binary_to_term(
            env.as_c_arg(),
            bytes.as_ptr(),
            bytes.len(),
            made.as_mut_ptr(),
            0,
        ) {
            // Only a name that no BEAM atom can have, which no unit from a BEAM module contains.
            0 => names::error().as_c_arg(),
            _ => made.assume_init(),
        }
    }
}
