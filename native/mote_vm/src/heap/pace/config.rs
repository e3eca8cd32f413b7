//! The settings for how often collections happen.

/// The ways in which tests stress collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stress {
    /// Not at all.
    #[default]
    Off,
    /// One comes after every turn, later on in half of the time, and marks everything in its pause. Each is checked,
    /// and what is free is spoilt.
    Standing,
    /// One comes after every turn, as with `Standing`, but marks beside turns, a few cells after each.
    Running,
    /// One comes after every turn, as with `Standing`, and moves every cell that can move.
    Moving,
}

/// The settings for how often collections happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GcConfig {
    /// Bytes allocated between two collections, at least: about what the last-level cache holds, so that the garbage
    /// of messages stays there, and work that is over before that is not collected at all.
    pub min: usize,
    /// Bytes allocated between two collections, in proportion to those that were live at the first.
    pub factor: f64,
    /// Stress, for tests.
    pub stress: Stress,
}

impl Default for GcConfig {
    fn default() -> GcConfig {
        GcConfig {
            min: 32 << 20,
            factor: 2.0,
            stress: Stress::Off,
        }
    }
}
