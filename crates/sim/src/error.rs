//! Errors of plans and of runs.

use sojourn_aqm::SpecError;
use std::fmt;

/// A plan that is refused: the key, the reason, the allowed values, the nearest match.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanError {
    /// The offending key, as in the scenario file: `queue.aqm`, `traffic.ftp.to`.
    pub key: String,
    /// The reason, as the predicate of a sentence about the key.
    pub problem: String,
    /// The allowed values; empty if obvious.
    pub allowed: String,
    /// The nearest valid word.
    pub nearest: Option<String>,
}

impl PlanError {
    pub(crate) fn new(key: impl Into<String>, problem: impl Into<String>) -> PlanError {
        PlanError { key: key.into(), problem: problem.into(), allowed: String::new(), nearest: None }
    }
    pub(crate) fn allowed(mut self, allowed: impl Into<String>) -> PlanError {
        self.allowed = allowed.into();
        self
    }
    /// The error of a spec at `key` of the scenario.
    pub(crate) fn spec(key: &str, error: SpecError) -> PlanError {
        PlanError {
            key: key.to_owned(),
            problem: format!("{} {}", error.key, error.problem),
            allowed: error.allowed,
            nearest: error.nearest,
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)?;
        if let Some(nearest) = &self.nearest {
            write!(f, " (did you mean {nearest}?)")?;
        }
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}

/// A run that ended without a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
    /// The run opened more connections than it can hold.
    #[error("more than {0} connections were opened")]
    TooManyFlows(u64),
    /// The traces need more memory than there is, or than the caller allowed.
    #[error("its traces of packets, drops, flows and congestion windows need more than {} MB of memory", .0 / 1_000_000)]
    Memory(u64),
    /// The packet counts are inconsistent: a defect of the simulator.
    #[error("packets were not conserved: {0}")]
    Conservation(String),
}
