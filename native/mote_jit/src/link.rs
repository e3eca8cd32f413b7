//! Linking: compiled pieces become one image, in which they call each other.
//!
//! An image does not belong to any machine. Where its code contains the address of something that each machine has elsewhere, a
//! slot or a constant in the heap, it records that ([`Reference`]), and that word is filled in when the image is placed for a
//! machine.
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::{ExternalName, Function, UserExternalName};
use cranelift_codegen::{CompiledCode, FinalizedRelocTarget};
use mote_vm::native::CodeMemory;

/// Alignment of each function: that of instruction fetch.
const ALIGN: usize = 32;

/// A thing that code refers to by index, until it is linked or placed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Reference {
    /// A piece of the same image, which it calls.
    Piece(usize),
    /// The slot of a function that the unit uses.
    Function(usize),
    /// The slot of a behaviour that the unit uses.
    Behaviour(usize),
    /// The word of a constant.
    Constant(usize),
}

impl Reference {
    pub(super) fn name(self) -> UserExternalName {
        let (namespace, index) = match self {
            Reference::Piece(index) => (0, index),
            Reference::Function(index) => (1, index),
            Reference::Behaviour(index) => (2, index),
            Reference::Constant(index) => (3, index),
        };
        UserExternalName::new(namespace, index as u32)
    }

    fn of(name: &UserExternalName) -> Reference {
        let index = name.index as usize;
        match name.namespace {
            0 => Reference::Piece(index),
            1 => Reference::Function(index),
            2 => Reference::Behaviour(index),
            _ => Reference::Constant(index),
        }
    }
}

/// One compiled function, not yet placed.
pub(super) struct Piece {
    code: Vec<u8>,
    links: Vec<Link>,
    words: Vec<Word>,
}

/// Eight bytes that are those of a reference.
#[derive(Clone, Copy)]
struct Word {
    at: usize,
    of: Reference,
    addend: i64,
}

/// A direct call of another piece.
struct Link {
    at: usize,
    kind: Reloc,
    addend: i64,
    target: usize,
}

impl Piece {
    /// `None` when the code refers to something that [`link`] does not know how to link.
    pub(super) fn of(compiled: &CompiledCode, function: &Function) -> Option<Piece> {
        let (mut links, mut words) = (Vec::new(), Vec::new());
        for reloc in compiled.buffer.relocs() {
            let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = &reloc.target else {
                return None;
            };
            let (at, addend) = (reloc.offset as usize, reloc.addend);
            let to = Reference::of(&function.params.user_named_funcs()[*name]);
            match (reloc.kind, to) {
                (kind @ (Reloc::X86CallPCRel4 | Reloc::Arm64Call), Reference::Piece(target)) => {
                    links.push(Link {
                        at,
                        kind,
                        addend,
                        target,
                    });
                }
                (Reloc::Abs8, of) if !matches!(of, Reference::Piece(_)) => {
                    words.push(Word { at, of, addend });
                }
                _ => return None,
            }
        }
        Some(Piece {
            code: compiled.code_buffer().to_vec(),
            links,
            words,
        })
    }
}

/// Linked code, which can be placed any number of times.
pub(super) struct Image {
    code: Vec<u8>,
    offsets: Vec<usize>,
    words: Vec<Word>,
}

impl Image {
    /// The code where it can run, with the words of its references. `None` when the system has no memory.
    pub(super) fn place(&self, word: impl Fn(Reference) -> u64) -> Option<CodeMemory> {
        let mut code = self.code.clone();
        for Word { at, of, addend } in &self.words {
            let word = word(*of).wrapping_add_signed(*addend);
            code.get_mut(*at..at + 8)?
                .copy_from_slice(&word.to_ne_bytes());
        }
        CodeMemory::of(&code, self.offsets.clone())
    }

    /// Returns the bytes that it takes while it is kept.
    pub(super) fn bytes(&self) -> usize {
        self.code.len() + size_of_val(&*self.offsets) + size_of_val(&*self.words)
    }
}

/// Links the pieces, which refer to each other by index. `None` when a call is out of reach.
pub(super) fn link(pieces: &[Piece]) -> Option<Image> {
    let mut image = Vec::new();
    let mut offsets = Vec::new();
    let mut words = Vec::new();
    for piece in pieces {
        image.resize(image.len().next_multiple_of(ALIGN), 0);
        let offset = image.len();
        offsets.push(offset);
        image.extend_from_slice(&piece.code);
        words.extend(piece.words.iter().map(|word| Word {
            at: offset + word.at,
            ..*word
        }));
    }
    for (piece, offset) in pieces.iter().zip(&offsets) {
        for link in &piece.links {
            let at = offset + link.at;
            let distance = *offsets.get(link.target)? as i64 + link.addend - at as i64;
            let word = image.get_mut(at..at + 4)?;
            let old = u32::from_le_bytes(word.try_into().ok()?);
            let new = match link.kind {
                Reloc::X86CallPCRel4 => i32::try_from(distance).ok()? as u32,
                // 26 bits, in instructions.
                _ if distance.unsigned_abs() < 1 << 27 => {
                    old & !0x03FF_FFFF | (distance >> 2) as u32 & 0x03FF_FFFF
                }
                _ => return None,
            };
            word.copy_from_slice(&new.to_le_bytes());
        }
    }
    // It may be kept for long.
    image.shrink_to_fit();
    offsets.shrink_to_fit();
    words.shrink_to_fit();
    Some(Image {
        code: image,
        offsets,
        words,
    })
}

#[cfg(all(
    test,
    unix,
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, loom))
))]
mod tests {
    use super::*;
    use mote_vm::native::can_be_published;
    use std::sync::mpsc::{channel, Receiver, Sender};

    /// A function that returns `n`.
    fn returns(n: u16) -> Piece {
        let code = if cfg!(target_arch = "x86_64") {
            // mov eax, n; ret
            let [low, high] = n.to_le_bytes();
            vec![0xB8, low, high, 0, 0, 0xC3]
        } else {
            // movz w0, n; ret
            let instructions = [0x5280_0000 | (n as u32) << 5, 0xD65F_03C0];
            instructions.iter().flat_map(|i| i.to_le_bytes()).collect()
        };
        Piece {
            code,
            links: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Runs the code that it is given, and says what that returned.
    fn run_all(codes: Receiver<usize>, answers: Sender<u32>) {
        for address in codes {
            // SAFETY: the sender keeps the memory until it has the answer, and it holds such a function.
            let code = unsafe {
                std::mem::transmute::<*const u8, extern "C" fn() -> u32>(
                    std::ptr::with_exposed_provenance(address),
                )
            };
            answers.send(code()).unwrap();
        }
    }

    #[test]
    fn every_thread_runs_what_was_written_last_at_an_address() {
        if !can_be_published() {
            return;
        }
        let runners: Vec<_> = (0..3)
            .map(|_| {
                let ((run, codes), (answer, answers)) = (channel(), channel());
                (run, answers, std::thread::spawn(|| run_all(codes, answer)))
            })
            .collect();
        let mut reused = 0;
        let mut last = std::ptr::null();
        for n in 0..1_000 {
            let image = link(&[returns(n)]).expect("no calls");
            let memory = image.place(|_| 0).expect("memory");
            let at = memory.start(0);
            reused += (at == last) as u32;
            last = at;
            for (run, _, _) in &runners {
                run.send(at.expose_provenance()).unwrap();
            }
            for (_, answers, _) in &runners {
                assert_eq!(answers.recv(), Ok(n as u32));
            }
        }
        // Linux gives an address again at once; its emulation by QEMU, where bin/prove runs AArch64, goes on to the next.
        assert!(
            reused > 0 || cfg!(target_arch = "aarch64"),
            "each code was at an address of its own"
        );
        for (run, _, thread) in runners {
            drop(run);
            thread.join().unwrap();
        }
    }
}
