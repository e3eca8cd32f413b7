//! The checksum of what is written into files. It tells accidents, not intentions.

/// Multiplies and rotates, eight bytes at a time in four lanes: each changed bit changes it.
pub(crate) fn checksum(number: u64, bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(ODD).rotate_left(29);
    let mut lanes = [1, 2, 3, 4].map(|lane| mix(number, lane));
    let mut whole = bytes.chunks_exact(32);
    for chunk in &mut whole {
        for (lane, word) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            *lane = mix(
                *lane,
                u64::from_le_bytes(word.try_into().unwrap_or_default()),
            );
        }
    }
    let rest = whole.remainder().iter();
    let rest = rest.fold(bytes.len() as u64, |sum, byte| mix(sum, u64::from(*byte)));
    lanes.into_iter().fold(rest, mix)
}
