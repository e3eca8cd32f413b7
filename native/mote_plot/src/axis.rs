//! An axis: where a value lies on it, where its ticks are, what is written there.
//!
//! On a logarithmic axis everything is computed with logarithms, so that its ticks are evenly spaced, too.
use crate::figure::Scale;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Power from which powers of two are written as such.
const MOST_POWER: f64 = 14.0;

/// One axis of a plot: its scale and its ticks.
#[derive(Clone)]
pub(crate) struct Axis {
    scale: Scale,
    /// Range of the axis, in the unit of `place` and not of values, as are the ticks.
    range: Range<f64>,
    ticks: Vec<f64>,
    /// Labels of the ticks, if these are not their values.
    names: Vec<String>,
}

impl Axis {
    /// An axis with room for all values and about that many ticks; a linear one begins at zero on request.
    pub(crate) fn new(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        zero: bool,
        ticks: usize,
    ) -> Axis {
        let zero = zero && scale == Scale::Linear;
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut low, mut high) = values
            .map(|value| place(scale, value))
            .fold(nothing, |(low, high), at| (low.min(at), high.max(at)));
        if zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if zero && low == high {
            // Nothing but zeros: their axis begins with them, too.
            high = 1.0;
        } else if low == high {
            // A single value stands in the middle.
            let around = match scale {
                Scale::Linear => (low.abs() * 0.5).max(0.5),
                _ => 0.5,
            };
            (low, high) = (low - around, high + around);
        }
        let margin = (high - low) * 0.04;
        let start = if zero && low == 0.0 {
            low
        } else {
            low - margin
        };
        let range = start..high + margin;
        let ticks = match scale {
            Scale::Linear => linear(&range, ticks),
            Scale::Log => decades(&range, ticks),
            Scale::Log2 => powers(&range, ticks),
        };
        Axis {
            scale,
            range,
            ticks,
            names: Vec::new(),
        }
    }

    /// An axis of categories, one unit each.
    pub(crate) fn categories(names: &[String]) -> Axis {
        Axis {
            scale: Scale::Linear,
            range: 0.0..names.len() as f64,
            ticks: (0..names.len()).map(|n| n as f64 + 0.5).collect(),
            names: names.to_vec(),
        }
    }

    /// Returns the value where bars begin: zero, or the end of an axis that has none.
    pub(crate) fn base(&self) -> f64 {
        match self.scale {
            Scale::Linear => 0.0,
            _ => self.value(self.range.start),
        }
    }

    /// Returns the labels of its ticks.
    pub(crate) fn labels(&self) -> Vec<String> {
        let labels = self.ticks.iter();
        labels
            .map(|tick| self.format_ext(&self.value(*tick)))
            .collect()
    }

    /// The value that lies there.
    fn value(&self, place: f64) -> f64 {
        match self.scale {
            Scale::Linear => place,
            Scale::Log => 10f64.powf(place),
            Scale::Log2 => place.exp2(),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let part =
            (place(self.scale, *value) - self.range.start) / (self.range.end - self.range.start);
        first + (f64::from(last - first) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.iter().map(|tick| self.value(*tick)).collect()
    }

    fn range(&self) -> Range<f64> {
        self.value(self.range.start)..self.value(self.range.end)
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        match self.names.get(*value as usize) {
            Some(name) => name.clone(),
            // 16,384 would be cut to 16.4k.
            None if self.scale == Scale::Log2 && self.range.end >= MOST_POWER => {
                format!("2^{}", value.log2().round())
            }
            None => number(*value),
        }
    }
}

fn place(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
        Scale::Log2 => value.log2(),
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear(range: &Range<f64>, count: usize) -> Vec<f64> {
    let rough = (range.end - range.start) / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| *step >= rough * 0.999);
    multiples(range, step.unwrap_or(10.0 * power))
}

/// Powers of ten, with twice and five times of them where there are few, or plain numbers where there is none of these.
fn decades(range: &Range<f64>, count: usize) -> Vec<f64> {
    let span = range.end - range.start;
    let step = (span / count as f64).ceil().max(1.0);
    let whole = multiples(range, step);
    if span > 3.0 {
        return whole;
    }
    let within = |mantissa: f64| {
        let mantissa = mantissa.log10();
        let first = (range.start - mantissa).ceil() as i64;
        let last = (range.end - mantissa).floor() as i64;
        (first..=last).map(move |power| power as f64 + mantissa)
    };
    let mut ticks: Vec<f64> = [1.0, 2.0, 5.0].into_iter().flat_map(within).collect();
    ticks.sort_by(f64::total_cmp);
    if ticks.len() >= 2 {
        return ticks;
    }
    let numbers = 10f64.powf(range.start)..10f64.powf(range.end);
    linear(&numbers, count)
        .into_iter()
        .map(f64::log10)
        .collect()
}

/// Powers of two.
fn powers(range: &Range<f64>, count: usize) -> Vec<f64> {
    let step = ((range.end - range.start) / count as f64).ceil().max(1.0);
    multiples(range, step)
}

fn multiples(range: &Range<f64>, step: f64) -> Vec<f64> {
    let first = (range.start / step).ceil() as i64;
    let last = (range.end / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// A number with four digits at most, big ones with three and in thousands, millions and so on.
fn number(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let unit = units
        .into_iter()
        .find(|(least, _)| value.abs() >= *least * 0.9995);
    let (value, unit) = match unit {
        Some((_, "k")) => (value / 1e3, "k"),
        Some((least, unit)) => (value / least, unit),
        None => (value, ""),
    };
    let digits = match value.abs() {
        small if small < 1e-12 => return "0".to_owned(),
        small if small < 1.0 => (3.0 - small.log10().floor()) as usize - 1,
        other => {
            let most = if unit.is_empty() { 3usize } else { 2 };
            most.saturating_sub(other.log10().floor() as usize)
        }
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}
