//! Pixels with text on them, which become a PNG.
//!
//! plotters draws text by the fonts of the system, which a server may not have. Here it is made of the glyphs of Noto
//! Sans Mono, which the crate noto-sans-mono-bitmap brings along: two sizes, the characters of Latin-1.
use noto_sans_mono_bitmap::{get_raster, get_raster_width, FontWeight, RasterHeight};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::convert::Infallible;

/// A picture in the making.
pub(crate) struct Canvas<'a> {
    width: u32,
    height: u32,
    /// Red, green, blue of each pixel, row by row. plotters keeps the canvas, so they are somebody else's.
    pixels: &'a mut [u8],
}

const WEIGHT: FontWeight = FontWeight::Regular;

/// Returns the number of bytes that the pixels take.
pub(crate) fn size(width: u32, height: u32) -> usize {
    width as usize * height as usize * 3
}

/// The bytes of the file.
pub(crate) fn png(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

impl Canvas<'_> {
    /// Makes a canvas on as many bytes as `size` says.
    pub(crate) fn new(pixels: &mut [u8], width: u32, height: u32) -> Canvas<'_> {
        assert_eq!(pixels.len(), size(width, height));
        Canvas {
            width,
            height,
            pixels,
        }
    }

    /// Lays a colour over a pixel; what is outside is left out.
    fn blend(&mut self, (x, y): BackendCoord, alpha: f64, rgb: (u8, u8, u8)) {
        if x < 0 || y < 0 || x >= self.width as i32 || y >= self.height as i32 {
            return;
        }
        let at = (y as usize * self.width as usize + x as usize) * 3;
        for (old, new) in self.pixels[at..at + 3]
            .iter_mut()
            .zip([rgb.0, rgb.1, rgb.2])
        {
            *old = (f64::from(*old) * (1.0 - alpha) + f64::from(new) * alpha).round() as u8;
        }
    }
}

/// The glyphs for a size of text.
fn raster(size: f64) -> RasterHeight {
    if size < 18.0 {
        RasterHeight::Size16
    } else {
        RasterHeight::Size20
    }
}

/// Width and height of a text.
fn extent(text: &str, size: f64) -> (i32, i32) {
    let height = raster(size);
    let width = text.chars().count() * get_raster_width(WEIGHT, height);
    (width as i32, height.val() as i32)
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.blend(point, color.alpha, color.rgb);
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &T,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let size = raster(style.size());
        let (width, height) = extent(text, style.size());
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        let (turned, color) = (style.transform(), style.color());
        let step = get_raster_width(WEIGHT, size) as i32;
        for (n, c) in text.chars().enumerate() {
            let glyph = get_raster(c, WEIGHT, size).or_else(|| get_raster('?', WEIGHT, size));
            let rows = glyph
                .iter()
                .flat_map(|glyph| glyph.raster().iter().enumerate());
            for (row, line) in rows {
                for (column, shade) in line.iter().enumerate().filter(|(_, shade)| **shade > 0) {
                    let across = left + n as i32 * step + column as i32;
                    let (dx, dy) = turned.transform(across, top + row as i32);
                    let alpha = color.alpha * f64::from(*shade) / 255.0;
                    self.blend((x + dx, y + dy), alpha, color.rgb);
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, style.size());
        Ok((width as u32, height as u32))
    }
}
