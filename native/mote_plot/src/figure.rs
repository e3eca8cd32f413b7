//! What is drawn, as it comes from Elixir. Nothing is checked or computed here.
use rustler::{NifMap, NifUnitEnum};

/// The kind of file.
#[derive(NifUnitEnum)]
pub(crate) enum Format {
    Svg,
    Png,
}

/// The growth of an axis.
#[derive(NifUnitEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
    Log2,
}

/// The mark that stands for a point.
#[derive(NifUnitEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A dot, joined with the next one; a thin line from the least to the greatest.
    Lines,
    /// A bar: `x` is the index of a category.
    Bars,
}

/// The place where the names of the series are written.
#[derive(NifUnitEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legend {
    /// Written beside the plot.
    Right,
    UpperLeft,
    UpperRight,
    LowerLeft,
    LowerRight,
    None,
}

/// One point: `low` and `high` are its spread.
#[derive(NifMap)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Points that belong together.
#[derive(NifMap)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// A picture. With a logarithmic axis all values on it are positive; there is at least one point.
#[derive(NifMap)]
pub(crate) struct Figure {
    pub(crate) title: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) kind: Kind,
    pub(crate) legend: Legend,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) x_scale: Scale,
    pub(crate) y_scale: Scale,
    /// The names below the bars.
    pub(crate) categories: Vec<String>,
    pub(crate) series: Vec<Series>,
}
