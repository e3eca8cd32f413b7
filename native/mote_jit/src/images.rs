//! The images of recently compiled units: another machine that loads one of these units has its code at once.
//!
//! Invariants:
//! 1. An image is found by everything that it depends on: the bytes of its unit, which of the behaviours that the unit names were
//!    loaded, and whether the two zeros are two terms. Whatever differs between machines is filled in when it is placed
//!    (link.rs).
//! 2. Images are kept up to a limit, the most recently used ones longest. Code that runs is the machine's own copy, which ends
//!    with its program.
use super::compile::{compile, LinkedUnit};
use super::unit::ResolvedUnit;
use mote_vm::native::compiler::Compiled;
use mote_vm::native::two_zeros;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bytes of units and their images that are kept.
const LIMIT: usize = 16 << 20;

/// See invariant 1.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ImageKey {
    unit: Box<[u8]>,
    loaded: Box<[bool]>,
    two_zeros: bool,
}

/// The code made of a unit, once it is there; nothing if no code can be made.
type Making = Arc<OnceLock<Option<LinkedUnit>>>;

struct KeptImage {
    making: Making,
    bytes: usize,
    used: u64,
}

#[derive(Default)]
struct Images {
    kept: HashMap<ImageKey, KeptImage>,
    bytes: usize,
    /// Counts uses.
    clock: u64,
}

static IMAGES: Mutex<Option<Images>> = Mutex::new(None);

/// The native code of a unit for its machine. Whoever wants a unit that is being compiled waits for that.
pub(super) fn compiled(unit: &ResolvedUnit<'_>) -> Option<Compiled> {
    let key = ImageKey::of(unit);
    let making = with(|images| images.making(&key));
    let made = making.get_or_init(|| compile(unit)).as_ref();
    with(|images| images.measure(&key, made.map_or(0, LinkedUnit::bytes)));
    made?.place(unit)
}

/// Returns a compiled unit only if there is already an image of it.
pub(super) fn at_hand(unit: &ResolvedUnit<'_>) -> Option<Compiled> {
    let key = ImageKey::of(unit);
    let making = with(|images| images.find(&key))?;
    making.get()?.as_ref()?.place(unit)
}

fn with<T>(then: impl FnOnce(&mut Images) -> T) -> T {
    // Nothing below leaves it halfway.
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    then(images.get_or_insert_with(Images::default))
}

impl ImageKey {
    fn of(unit: &ResolvedUnit<'_>) -> ImageKey {
        ImageKey {
            unit: unit.bytes.into(),
            loaded: unit.loaded.as_slice().into(),
            two_zeros: two_zeros(),
        }
    }

    fn bytes(&self) -> usize {
        self.unit.len() + self.loaded.len() + size_of::<(ImageKey, KeptImage)>()
    }
}

impl Images {
    fn find(&mut self, key: &ImageKey) -> Option<Making> {
        self.clock += 1;
        let kept = self.kept.get_mut(key)?;
        kept.used = self.clock;
        Some(kept.making.clone())
    }

    fn making(&mut self, key: &ImageKey) -> Making {
        if let Some(making) = self.find(key) {
            return making;
        }
        let making = Making::default();
        let kept = KeptImage {
            making: making.clone(),
            bytes: key.bytes(),
            used: self.clock,
        };
        self.bytes += kept.bytes;
        self.kept.insert(key.clone(), kept);
        making
    }

    /// Counts what was made, and lets go of what was not used for the longest time.
    fn measure(&mut self, key: &ImageKey, image: usize) {
        if let Some(kept) = self.kept.get_mut(key) {
            let bytes = key.bytes() + image;
            self.bytes += bytes - kept.bytes;
            kept.bytes = bytes;
        }
        // One that is larger than all that is kept is not kept, and leaves the others alone.
        if self.kept.get(key).is_some_and(|kept| kept.bytes > LIMIT) {
            self.forget(key);
        }
        while self.bytes > LIMIT {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &ImageKey) {
        let kept = self.kept.remove(key);
        self.bytes -= kept.map_or(0, |kept| kept.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> ImageKey {
        ImageKey {
            unit: n.to_le_bytes().into(),
            loaded: [true].into(),
            two_zeros: false,
        }
    }

    #[test]
    fn what_was_used_last_is_kept() {
        let mut images = Images::default();
        let image = LIMIT / 4;
        for n in 0..10 {
            images.making(&key(n));
            images.measure(&key(n), image);
            // Once more changes nothing.
            images.measure(&key(n), image);
            assert!(images.find(&key(0)).is_some(), "{n}");
            assert!(images.bytes <= LIMIT);
        }
        let kept: Vec<u32> = (0..10)
            .filter(|n| images.find(&key(*n)).is_some())
            .collect();
        assert_eq!(kept, [0, 8, 9]);
    }

    #[test]
    fn a_unit_is_another_one_while_what_it_names_is_not_loaded() {
        let mut images = Images::default();
        images.making(&key(1));
        let other = ImageKey {
            loaded: [false].into(),
            ..key(1)
        };
        assert!(images.find(&other).is_none());
    }

    #[test]
    fn what_is_larger_than_all_that_is_kept_is_not_kept() {
        let mut images = Images::default();
        images.making(&key(1));
        images.making(&key(2));
        images.measure(&key(2), LIMIT);
        assert!(images.find(&key(1)).is_some());
        assert!(images.find(&key(2)).is_none());
        assert_eq!(images.bytes, key(1).bytes());
    }
}
