//! The boxlab runtime: from a [`plan::BootPlan`] to a running VM and its record.
//!
//! Nothing in here knows of Node. The flow of a boot: [`machine`] makes the channels, asks an [`engine`] for the
//! command line, [`spawn`]s it, speaks [`qmp`] to it, while [`console`] stamps what the guest prints and sets marks on
//! the [`board`]; [`record`] keeps all of it as it happens; [`agent`] is the way into the guest.

pub mod agent;
pub mod board;
pub mod clock;
pub mod console;
pub mod counters;
pub mod drain;
pub mod engine;
pub mod exec;
pub mod fault;
pub mod files;
pub mod fingerprint;
pub mod host;
pub mod ledger;
pub mod machine;
pub mod matcher;
pub mod plan;
pub mod preflight;
pub mod process;
pub mod qmp;
pub mod record;
pub mod registry;
pub mod shares;
pub mod spawn;
pub mod stop;
pub mod stream;
pub mod systemd;
pub mod words;

use std::sync::OnceLock;

/// The runtime's own threads. They live as long as the process, so that a worker that ends takes no other's box along.
pub fn tokio_runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("boxlab")
            .enable_all()
            .build()
            .expect("the threads of the boxlab runtime can be started")
    })
}
