//! The native code of this computer, if there is any.
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use mote_vm::native::can_be_published;
use std::sync::OnceLock;

/// The instruction set of this computer; `None` where no native code is made: the interpreter runs everything then.
pub(super) fn isa() -> Option<&'static OwnedTargetIsa> {
    static ISA: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    ISA.get_or_init(make).as_ref()
}

fn make() -> Option<OwnedTargetIsa> {
    // Layout and relocations (`mote_vm::native::layout`, link.rs) are written for these.
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if !known || !can_be_published() {
        return None;
    }
    let mut flags = settings::builder();
    let choices = [
        ("opt_level", "speed"),
        // Code is placed once and refers to addresses.
        ("is_pic", "false"),
        ("unwind_info", "false"),
        // Cranelift's tail calls count on them.
        ("preserve_frame_pointers", "true"),
        // The stack has room for every frame (`mote_vm::native`, invariant 4), so that none needs probing.
        ("enable_probestack", "false"),
        (
            "enable_verifier",
            if cfg!(debug_assertions) {
                "true"
            } else {
                "false"
            },
        ),
    ];
    for (name, value) in choices {
        flags.set(name, value).ok()?;
    }
    let builder = cranelift_native::builder().ok()?;
    builder.finish(settings::Flags::new(flags)).ok()
}
