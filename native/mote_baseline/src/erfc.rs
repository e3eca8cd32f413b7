//! The complementary error function by its continued fraction (Abramowitz and Stegun 7.1.14):
//!
//! ```text
//! erfc z = exp(-z²) / √π · 1 / (z + (1/2)/(z + 1/(z + (3/2)/(z + 2/(z + …)))))
//! ```
//!
//! One chain of divisions for each number, with nothing else to do meanwhile.

/// Parts of the fraction that are computed: enough for all digits of the numbers that [`sum`] adds up.
const PARTS: u32 = 60;
const SQRT_PI: f64 = 1.772_453_850_905_516;

/// The sum over `n` numbers between 2 and 6, in turn.
pub fn sum(n: u32) -> f64 {
    let mut sum = 0.0;
    for i in (1..=n).rev() {
        sum += erfc(2.0 + f64::from(i & 1023) / 256.0);
    }
    sum
}

fn erfc(z: f64) -> f64 {
    (-(z * z)).exp() / (SQRT_PI * fraction(z))
}

fn fraction(z: f64) -> f64 {
    let mut f = z;
    for k in (1..=PARTS).rev() {
        f = z + f64::from(k) / 2.0 / f;
    }
    f
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_values() {
        for (z, erfc) in [
            (2.0, 0.004_677_734_981_047_266),
            (4.0, 1.541_725_790_028_002e-8),
            (6.0, 2.151_973_671_249_891e-17),
        ] {
            let error = (super::erfc(z) / erfc - 1.0).abs();
            assert!(error < 1e-12, "erfc({z}) is off by {error:e}");
        }
    }
}
