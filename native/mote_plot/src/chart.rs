//! A figure on any of plotters' backends.
//!
//! The colours of series can be told apart by colour-blind readers, on white and on black ground; everything else is black on
//! white, which a page may change by its style sheet.
use crate::axis::Axis;
use crate::figure::{Figure, Kind, Legend, Point};
use plotters::coord::Shift;
use plotters::prelude::*;

const COLORS: [RGBColor; 8] = [
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0xd9, 0x5f, 0x02),
    RGBColor(0x2c, 0xa0, 0x6c),
    RGBColor(0xc0, 0x4c, 0x9b),
    RGBColor(0xb8, 0x96, 0x0c),
    RGBColor(0x5b, 0xb5, 0xe0),
    RGBColor(0x8c, 0x6d, 0x5a),
    RGBColor(0x7f, 0x7f, 0x7f),
];

/// Greatest part of a category's unit that its bars take, and greatest part of the whole axis that one bar takes.
const FILLED: f64 = 0.8;
const WIDEST: f64 = 0.1;
const LABEL: (&str, u32) = ("sans-serif", 16);
const TITLE: (&str, u32) = ("sans-serif", 20);

type Area<B> = DrawingArea<B, Shift>;
type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<Axis, Axis>>;
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Draws a figure on an area of any backend.
pub(crate) fn draw<B: DrawingBackend>(figure: &Figure, area: &Area<B>) -> Drawn<B> {
    area.fill(&WHITE)?;
    let (plot, beside) = halves(figure, area);
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let x_ticks = (plot.dim_in_pixel().0 as usize / 90).max(2);
    let y_ticks = (figure.height as usize / 60).max(2);
    let bars = figure.kind == Kind::Bars;
    let x = if bars {
        Axis::categories(&figure.categories)
    } else {
        Axis::new(figure.x_scale, points().map(|p| p.x), false, x_ticks)
    };
    let spread = points().flat_map(|p| [p.low, p.high]);
    let y = Axis::new(figure.y_scale, spread, true, y_ticks);
    let (x_labels, y_labels) = (x.labels(), y.labels());
    let widest = y_labels.iter().map(String::len).max();
    let base = y.base();

    let mut chart = ChartBuilder::on(&plot)
        .margin(12)
        .margin_right(24)
        .caption(&figure.title, TITLE)
        .x_label_area_size(48)
        .y_label_area_size(44 + 8 * widest.unwrap_or(0) as u32)
        .build_cartesian_2d(x, y)?;

    let mut mesh = chart.configure_mesh();
    mesh.x_desc(&figure.x_label)
        .y_desc(&figure.y_label)
        .x_labels(x_labels.len().max(1))
        .y_labels(y_labels.len().max(1))
        .label_style(LABEL)
        .axis_desc_style(LABEL)
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(TRANSPARENT);
    if bars {
        mesh.disable_x_mesh();
    }
    mesh.draw()?;

    draw_series(figure, &mut chart, base)?;
    draw_legend(figure, &mut chart)?;
    names(figure, &beside)
}

/// The lines or bars, each with the spread of its points.
fn draw_series<'a, B: DrawingBackend + 'a>(
    figure: &Figure,
    chart: &mut Chart<'a, B>,
    base: f64,
) -> Drawn<B> {
    let bars = figure.kind == Kind::Bars;
    let series = figure.series.len().max(1) as f64;
    let width = (FILLED / series).min(WIDEST * figure.categories.len() as f64);
    let margin = (1.0 - width * series) / 2.0;
    for (n, series) in figure.series.iter().enumerate() {
        let color = COLORS[n % COLORS.len()];
        let drawn = if bars {
            let left = margin + n as f64 * width;
            let bar = |p: &Point| {
                let corners = [(p.x + left, base), (p.x + left + width, p.y)];
                Rectangle::new(corners, color.filled())
            };
            chart.draw_series(series.points.iter().map(bar))?
        } else {
            let line = series.points.iter().map(|p| (p.x, p.y));
            chart.draw_series(line.clone().map(|at| Circle::new(at, 3, color.filled())))?;
            chart.draw_series(LineSeries::new(line, color.stroke_width(2)))?
        };
        let mark = move |(left, top)| {
            Rectangle::new([(left, top - 5), (left + 14, top + 5)], color.filled())
        };
        drawn.label(&series.name).legend(mark);

        // The spread, over bars in black.
        let middle = if bars {
            margin + (n as f64 + 0.5) * width
        } else {
            0.0
        };
        let ink = if bars { BLACK.mix(0.6) } else { color.mix(0.6) };
        let spread = series.points.iter().filter(|p| p.low < p.high).map(|p| {
            let at = p.x + middle;
            PathElement::new([(at, p.low), (at, p.high)], ink)
        });
        chart.draw_series(spread)?;
    }
    Ok(())
}

fn draw_legend<'a, B: DrawingBackend + 'a>(figure: &Figure, chart: &mut Chart<'a, B>) -> Drawn<B> {
    if let Some(position) = position(figure.legend) {
        chart
            .configure_series_labels()
            .position(position)
            .label_font(LABEL)
            .legend_area_size(20)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.2))
            .draw()?;
    }
    Ok(())
}

/// The part of the area for the plot, and the one for a legend beside it.
fn halves<B: DrawingBackend>(figure: &Figure, area: &Area<B>) -> (Area<B>, Area<B>) {
    let names = figure
        .series
        .iter()
        .map(|series| series.name.chars().count());
    let width = match figure.legend {
        Legend::Right => 36 + 9 * names.max().unwrap_or(0) as i32,
        _ => 0,
    };
    area.split_horizontally(figure.width as i32 - width.min(figure.width as i32 / 2))
}

/// The legend beside the plot.
fn names<B: DrawingBackend>(figure: &Figure, beside: &Area<B>) -> Drawn<B> {
    if figure.legend != Legend::Right {
        return Ok(());
    }
    for (n, series) in figure.series.iter().enumerate() {
        let top = 44 + n as i32 * 24;
        let mark = [(0, top), (14, top + 10)];
        beside.draw(&Rectangle::new(mark, COLORS[n % COLORS.len()].filled()))?;
        beside.draw(&Text::new(series.name.clone(), (20, top - 2), LABEL))?;
    }
    Ok(())
}

fn position(legend: Legend) -> Option<SeriesLabelPosition> {
    Some(match legend {
        Legend::UpperLeft => SeriesLabelPosition::UpperLeft,
        Legend::UpperRight => SeriesLabelPosition::UpperRight,
        Legend::LowerLeft => SeriesLabelPosition::LowerLeft,
        Legend::LowerRight => SeriesLabelPosition::LowerRight,
        Legend::Right | Legend::None => return None,
    })
}
