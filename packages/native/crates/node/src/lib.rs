//! The Node binding of the boxlab runtime. Nothing in here but conversion: structures cross as JSON, bytes as
//! buffers, host times as BigInt nanoseconds, faults as errors whose message is the JSON of a failure.

// napi leaves its registration, and so every use, out of test builds.
#![cfg_attr(test, allow(dead_code))]

mod boxes;
mod convert;
mod exec;
mod host;
mod ledger;
mod stream;
mod systemd;

use std::sync::atomic::{AtomicU32, Ordering};

use napi::bindgen_prelude::{Env, Object, Result};
use napi_derive::napi;

/// The number of a Node environment (the main thread, or one worker) as an owner of boxes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner(pub u32);

/// Runs once in each environment that loads the addon: when it ends, in whatever way, its boxes are killed.
#[napi(module_exports)]
pub fn init(_exports: Object<'_>, env: Env) -> Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let owner = NEXT.fetch_add(1, Ordering::Relaxed);
    if owner == 1 {
        // Takes 40 ms, which no boot should wait for.
        std::thread::spawn(boxlab_runtime::clock::host_tsc_khz);
        // process.exit() runs no clean-up hook of the main thread.
        // SAFETY: the function takes nothing and unwinds into nobody.
        unsafe { libc::atexit(at_exit) };
    }
    env.set_instance_data(Owner(owner), (), |_| {})?;
    env.add_env_cleanup_hook(owner, |owner| boxlab_runtime::registry::kill_owner(u64::from(owner)))?;
    Ok(())
}

/// Ends all boxes, and sees that no zombie of theirs is left to a PID 1 that may never look.
extern "C" fn at_exit() {
    boxlab_runtime::registry::kill_all();
}
