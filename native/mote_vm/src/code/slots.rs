//! Slots, one for each function and each behaviour, in which code finds the current version.
use super::op::Code;
use crate::values::actor::BehaviourId;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The place where callers find the current version of a function.
pub struct FunctionSlot {
    pub(crate) arity: u16,
    pub(super) code: AtomicPtr<Code>,
    /// The function as native code; null until that is ready.
    native: AtomicPtr<u8>,
}

impl FunctionSlot {
    /// Offset of the native code, for callers in native code.
    pub(crate) const NATIVE: usize = std::mem::offset_of!(FunctionSlot, native);

    pub(super) fn new(arity: u32) -> FunctionSlot {
        FunctionSlot {
            arity: arity as u16,
            code: AtomicPtr::new(null_mut()),
            native: AtomicPtr::new(null_mut()),
        }
    }

    /// Puts a new version in.
    pub(super) fn set(&self, code: NonNull<Code>) {
        // First, so that nobody finds the new version's place with the old native code for long. Release, both: see
        // `code`.
        self.native.store(null_mut(), Ordering::Release);
        self.code.store(code.as_ptr(), Ordering::Release);
    }

    /// Puts the native code of that version in, unless another one stands here by now.
    pub(super) fn set_native(&self, version: *const Code, native: *const u8) {
        if std::ptr::eq(self.code.load(Ordering::Relaxed), version) {
            // Release: native callers acquire.
            self.native.store(native.cast_mut(), Ordering::Release);
        }
    }

    /// The code, if the function's module is loaded.
    #[inline(always)]
    pub(crate) fn code(&self) -> Option<&Code> {
        // Acquire: pairs with the release in `install`, so that the code is seen complete.
        // SAFETY: null or code of the program (invariant 1).
        unsafe { self.code.load(Ordering::Acquire).as_ref() }
    }
}

/// The place where creates and becomes find the current version of a behaviour.
pub struct BehaviourSlot {
    pub(crate) captures: u16,
    pub(super) id: AtomicU32,
}

impl BehaviourSlot {
    /// Stands in place of a number while the behaviour's module is not loaded.
    pub const NOT_LOADED: u32 = u32::MAX;
    /// Offset of the number, for native code.
    pub(crate) const ID: usize = std::mem::offset_of!(BehaviourSlot, id);

    /// The current version's number, if the behaviour's module is loaded.
    #[inline(always)]
    pub fn id(&self) -> Option<BehaviourId> {
        // Acquire: pairs with the release in `install` (invariant 2).
        match self.id.load(Ordering::Acquire) {
            BehaviourSlot::NOT_LOADED => None,
            id => Some(BehaviourId(id)),
        }
    }
}
