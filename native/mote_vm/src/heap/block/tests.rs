use super::*;

#[test]
fn what_does_not_fit_hastens_a_collection() {
    let pool = BlockPool::new(16 * BLOCK, Pace::default());
    let block = pool.acquire().expect("room");
    assert!(pool.fits(BLOCK) && !pool.pace.is_due());
    assert!(!pool.fits(16 * BLOCK));
    assert!(pool.pace.is_due());
    pool.release(block);
}

#[test]
fn the_most_that_was_in_use_is_told_once() {
    let pool = BlockPool::default();
    let blocks: Vec<Block> = (0..3).filter_map(|_| pool.acquire_anyway()).collect();
    pool.release(blocks[0]);
    pool.release(blocks[1]);
    assert_eq!(pool.take_peak(), 3 * BLOCK);
    assert_eq!(pool.take_peak(), BLOCK);
    let another = pool.acquire().expect("room");
    assert_eq!(pool.take_peak(), 2 * BLOCK);
    pool.release(another);
    pool.release(blocks[2]);
}

/// Blocks that turns took beyond the limit count as long as something is in them.
#[test]
fn empty_blocks_beyond_the_limit_leave_the_reserve_to_others() {
    let pool = BlockPool::new(16 * BLOCK, Pace::default());
    let mut blocks: Vec<Block> = std::iter::from_fn(|| pool.acquire()).collect();
    pool.given(blocks.len() * BLOCK);
    assert!(pool.quota.fits(BLOCK));
    // As much again as all others may have.
    blocks.extend((0..2).filter_map(|_| pool.acquire_anyway()));
    pool.given(2 * BLOCK);
    assert!(!pool.quota.fits(1), "nothing is known to be empty");
    let finds = |live| {
        pool.pace.begun(0);
        pool.pace.collected(live, 0, None);
        pool.collected(live);
    };
    finds(15 * BLOCK);
    assert!(pool.quota.fits(BLOCK) && !pool.quota.fits(BLOCK + 1));
    finds(16 * BLOCK);
    assert!(!pool.quota.fits(1));
    finds(BLOCK);
    assert!(
        pool.quota.fits(BLOCK) && !pool.quota.fits(BLOCK + 1),
        "the rest is what blocks may take"
    );
    // Holes are filled.
    pool.given(15 * BLOCK);
    assert!(!pool.quota.fits(1));
    blocks.drain(..).for_each(|block| pool.release(block));
    assert!(!pool.quota.has_credit() && pool.quota.held() == 0);
}

/// A block counts as allocated when it is taken: one for each kind of cells is no reason to collect.
#[test]
fn the_last_blocks_are_filled_before_a_collection_is_due() {
    let pool = BlockPool::new(16 * BLOCK, Pace::default());
    let mut blocks: Vec<Block> = std::iter::from_fn(|| pool.acquire()).collect();
    pool.given(blocks.len() * BLOCK);
    for _ in 0..3 {
        pool.pace.begun(0);
        pool.pace.collected(8 * BLOCK, 0, None);
        pool.collected(8 * BLOCK);
        for _ in 0..2 {
            pool.release(blocks.pop().expect("one"));
        }
        for due in [false, false] {
            blocks.extend(pool.acquire());
            pool.given(PAYLOAD);
            assert_eq!(pool.pace.is_due(), due);
        }
    }
    assert!(
        pool.acquire().is_none() && pool.pace.is_due(),
        "there is none"
    );
    blocks.drain(..).for_each(|block| pool.release(block));
}
