//! The ledger of boots.

use std::path::Path;
use std::sync::Arc;

use boxlab_runtime::fault::{Failure, Fault};
use boxlab_runtime::ledger::{self, Claim, Limits, Turn};
use napi::bindgen_prelude::{Error, Result};
use napi_derive::napi;
use serde::de::DeserializeOwned;

use crate::convert::{failure_error, to_json};

/// A place in the ledger. Every call looks at a folder of small files and takes well under a millisecond.
#[napi]
#[derive(Debug)]
pub struct NativeTurn {
    turn: Arc<Turn>,
}

impl NativeTurn {
    pub(crate) fn share(&self) -> Arc<Turn> {
        Arc::clone(&self.turn)
    }
}

#[napi]
impl NativeTurn {
    /// Queues up in the ledger of a folder.
    #[napi(constructor)]
    pub fn new(dir: String, claim_json: String, limits_json: String) -> Result<Self> {
        let (claim, limits) = (parse::<Claim>(&claim_json)?, parse::<Limits>(&limits_json)?);
        let turn = Turn::queue(Path::new(&dir), claim, limits).map_err(|fault| ledger_error(&fault))?;
        Ok(Self { turn: Arc::new(turn) })
    }

    /// The JSON of whether it is its turn, and if not, why.
    #[napi]
    pub fn ask(&self) -> Result<String> {
        to_json(&self.turn.ask().map_err(|fault| ledger_error(&fault))?)
    }

    /// Gives back what it has.
    #[napi]
    pub fn leave(&self) {
        self.turn.leave();
    }
}

/// The JSON of who stands in the ledger of a folder.
#[napi]
pub fn ledger_entries(dir: String) -> Result<String> {
    to_json(&ledger::entries(Path::new(&dir)).map_err(|fault| ledger_error(&fault))?)
}

/// The guest memory that all boxes may have together on this host, in MiB, where nothing else was said.
#[napi]
pub fn default_memory_mib() -> u32 {
    u32::try_from(ledger::default_memory_mib()).unwrap_or(u32::MAX)
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|error| Error::from_reason(format!("the ledger's words cannot be read: {error}")))
}

fn ledger_error(fault: &Fault) -> Error {
    failure_error(&Failure::from(fault))
}
