//! Plots as SVG and PNG: the NIF of `Mote.Measure.Plot.Native`, which checks what comes in here.
//!
//! It knows nothing of machines and measurements: a figure is a title, two axes and series of numbers.
mod axis;
mod canvas;
mod chart;
mod figure;

use canvas::Canvas;
use figure::{Figure, Format};
use plotters::prelude::{IntoDrawingArea, SVGBackend};
use rustler::{Binary, Env, NewBinary};

/// The figure as the bytes of a file. An error says what could not be drawn.
#[rustler::nif(schedule = "DirtyCpu")]
fn draw<'a>(env: Env<'a>, figure: Figure, format: Format) -> Result<Binary<'a>, String> {
    let bytes = match format {
        Format::Svg => svg(&figure),
        Format::Png => png(&figure),
    };
    let bytes = bytes.map_err(|error| error.to_string())?;
    let mut binary = NewBinary::new(env, bytes.len());
    binary.copy_from_slice(&bytes);
    Ok(binary.into())
}

type Drawn = Result<Vec<u8>, Box<dyn std::error::Error>>;

fn svg(figure: &Figure) -> Drawn {
    let mut text = String::new();
    let area =
        SVGBackend::with_string(&mut text, (figure.width, figure.height)).into_drawing_area();
    chart::draw(figure, &area)?;
    area.present()?;
    drop(area);
    Ok(text.into_bytes())
}

fn png(figure: &Figure) -> Drawn {
    let (width, height) = (figure.width, figure.height);
    let mut pixels = vec![0; canvas::size(width, height)];
    let area = Canvas::new(&mut pixels, width, height).into_drawing_area();
    chart::draw(figure, &area)?;
    drop(area);
    Ok(canvas::png(&pixels, width, height)?)
}

rustler::init!("Elixir.Mote.Measure.Plot.Native");
