//! Stage 0 of an image box: from the initramfs to the image's own init, with the agent beside it.
//!
//! The order is that of switch_root(8): mount the root, move the kernel's file systems into it, make it the root,
//! remove what was in the initramfs. Then the files of this boot are put into it, a resident agent is started, and
//! process 1 becomes the image's init, with the arguments and the environment that the kernel had for it.

mod disk;
mod hand_over;
mod inject;
mod modules;
mod root;
mod share;
mod switch;

use std::fs;
use std::io;
use std::path::Path;

use boxlab_protocol::stage0::{STAGE0_FILE, Stage0};

pub use hand_over::{Resident, hand_over, taken_over};

/// Why stage 0 came to no end. The text is for the host's user.
#[derive(Debug, thiserror::Error)]
pub enum StageFault {
    /// The initramfs is not one of ours, or of another version.
    #[error("{STAGE0_FILE} of the initramfs cannot be used: {0}")]
    Description(String),
    /// A disk did not come.
    #[error(
        "no disk with the serial number {serial} came within {seconds} s: is virtio_blk in the kernel or among the modules?"
    )]
    NoDisk {
        /// Its serial number.
        serial: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A share did not come.
    #[error(
        "no shared folder with the tag {tag} came within {seconds} s: is virtiofs in the kernel or among the modules?"
    )]
    NoShare {
        /// Its tag.
        tag: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A file system could not be mounted.
    #[error("cannot mount {what} ({filesystem}) on {target}: {error}{hint}")]
    Mount {
        /// What it is for.
        what: &'static str,
        /// The kernel's name of the file system.
        filesystem: String,
        /// Where to.
        target: String,
        /// What the kernel said.
        error: io::Error,
        /// What that means here.
        hint: &'static str,
    },
    /// Another step failed.
    #[error("cannot {doing}: {error}")]
    Step {
        /// What was done.
        doing: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The image's init is nothing that can be started.
    #[error("the image's init {path} cannot be started: {reason}")]
    Init {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
}

impl StageFault {
    fn step(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Step { doing, error }
    }
}

/// What the initramfs asks for; `None` in a bare box.
pub fn asked() -> Option<Result<Stage0, StageFault>> {
    let text = match fs::read_to_string(STAGE0_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(StageFault::Description(error.to_string()))),
    };
    Some(serde_json::from_str(&text).map_err(|error| StageFault::Description(error.to_string())))
}

/// Makes the image's root the root of this process. What fails without being needed is told in `troubles`.
pub fn enter(stage0: &Stage0, troubles: &mut Vec<String>) -> Result<(), StageFault> {
    let new_root = Path::new(switch::NEW_ROOT);
    root::mount_root(stage0, new_root, troubles)?;
    let files = inject::open().map_err(StageFault::step("open the files of this boot"))?;
    let old_root = switch::into(new_root)?;
    if let Some(files) = files {
        inject::put(&files).map_err(|(path, error)| StageFault::Step { doing: format!("write {path}"), error })?;
    }
    switch::empty(&old_root);
    if let Some(init) = &stage0.init {
        hand_over::check(init)?;
    }
    Ok(())
}
