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
