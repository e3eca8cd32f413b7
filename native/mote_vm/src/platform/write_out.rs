//! A hint to the system about a file.
use std::fs::File;

/// Asks the system to begin with writing these bytes of a file to the disk: whoever syncs it later has less to wait for. Says nothing of
/// errors, which the sync finds.
pub(crate) fn begin_write_out(file: &File, from: u64, bytes: usize) {
    #[cfg(all(target_os = "linux", not(any(miri, mote_portable))))]
    // SAFETY: the file is open, and nothing of this process's memory is touched.
    unsafe {
        use std::os::fd::AsRawFd;
        let begins = libc::SYNC_FILE_RANGE_WRITE;
        libc::sync_file_range(file.as_raw_fd(), from as _, bytes as _, begins);
    }
    #[cfg(not(all(target_os = "linux", not(any(miri, mote_portable)))))]
    let _ = (file, from, bytes);
}
