//! The exports of the WebAssembly module. The caller writes a plan to `request(length)` and calls
//! `begin(seed)`; then `advance()` until the run is over, `part()` whenever it wants to draw, and `finish()`.
//! Functions that return a length have written a text to `answer()`; an error is `{"error": ...}`.

use crate::{Scenes, Stream};
use sojourn_aqm::Time;
use std::cell::RefCell;

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static STREAM: RefCell<Option<Stream>> = const { RefCell::new(None) };
    /// Why the run ended before its end.
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
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

/// Set up a run of the plan; return 0, or the length of an error.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn begin(seed: u32) -> usize {
    FAILURE.set(None);
    let plan = REQUEST.with_borrow(|bytes| serde_json::from_slice(bytes));
    let stream = match plan {
        Ok(plan) => Stream::new(plan, u64::from(seed), None).map_err(|why| why.to_string()),
        Err(why) => Err(format!("the plan cannot be read: {why}")),
    };
    match stream {
        Ok(stream) => {
            STREAM.set(Some(stream));
            0
        }
        Err(why) => failed(&why),
    }
}

/// Simulate the next slice; return whether the run is over. An error ends it: `finish` returns it.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn advance() -> bool {
    STREAM.with_borrow_mut(|stream| {
        stream.as_mut().is_none_or(|stream| {
            stream.advance().unwrap_or_else(|why| {
                FAILURE.set(Some(why.to_string()));
                true
            })
        })
    })
}

/// Return the length of the curves since the last call.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn part() -> usize {
    answered(STREAM.with_borrow_mut(|stream| stream.as_mut().map_or_else(String::new, Stream::part)))
}

/// Return the length of the view of the run.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> usize {
    let stream = STREAM.take();
    if let Some(why) = FAILURE.take() {
        return failed(&why);
    }
    match stream.map(Stream::finish) {
        Some(Ok(text)) => answered(text),
        Some(Err(why)) => failed(&why.to_string()),
        None => failed("no run has begun"),
    }
}

/// Return the length of the packets of a run of the plan from `from` on, ns: at most `most` events.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn packets(seed: u32, from: f64, most: usize) -> usize {
    let plan = REQUEST.with_borrow(|bytes| serde_json::from_slice(bytes));
    let scene = plan.map_err(|why| format!("the plan cannot be read: {why}")).and_then(|plan| {
        let scenes = Scenes::new(plan, u64::from(seed), Time(from as u64), most);
        let mut scenes = scenes.map_err(|why| why.to_string())?;
        while !scenes.advance().map_err(|why| why.to_string())? {}
        Ok(scenes.finish())
    });
    match scene {
        Ok(text) => answered(text),
        Err(why) => failed(&why),
    }
}

/// Return where the answer is, in UTF-8.
#[allow(unsafe_code, unreachable_pub, reason = "exported by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

fn failed(why: &str) -> usize {
    answered(serde_json::json!({ "error": why }).to_string())
}

fn answered(text: String) -> usize {
    let length = text.len();
    ANSWER.set(text);
    length
}
