//! Our Go template engine, from `serde_json::Value` data.

use crate::side::Entrant;
use crate::workload::GoWorkload;

/// The engine with the template of `work` parsed, and the function `add`.
pub(crate) fn entrant(_work: &GoWorkload) -> Entrant {
    Entrant::Absent("this build has no gotemplate engine".into())
}
