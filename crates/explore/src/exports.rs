//! The exports of the WebAssembly module. The caller writes a plan to `request(length)`, calls
//! `simulate(seed)`, which returns the length of the answer, and reads that from `answer()`.

use std::cell::RefCell;

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Return where `length` bytes of the plan belong.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn request(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.resize(length, 0);
        bytes.as_mut_ptr()
    })
}

/// Run the plan; return the length of the answer in bytes.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn simulate(seed: u32) -> usize {
    let text = REQUEST.with_borrow(|bytes| {
        let plan = String::from_utf8_lossy(bytes);
        crate::view(&plan, u64::from(seed))
    });
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        answer.len()
    })
}

/// Return where the answer is, in UTF-8.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
