//! The dot product of two vectors of 1,000 floats, written plainly.

const SIZE: u32 = 1_000;

/// The sum of `n` dot products.
pub fn sum(n: u32) -> f64 {
    let x: Vec<f64> = (1..=SIZE).map(|i| 1.0 / f64::from(i)).collect();
    let y: Vec<f64> = (1..=SIZE).map(|i| f64::from(i) / 2.0).collect();
    let mut sum = 0.0;
    for _ in 0..n {
        // Or the compiler would do it once.
        sum += dot(std::hint::black_box(&x), std::hint::black_box(&y));
    }
    sum
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_product_is_a_half() {
        assert!((super::sum(3) - 1_500.0).abs() < 1e-9);
    }
}
