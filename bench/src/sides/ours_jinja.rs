//! Our Jinja engine, from `serde_json::Value` data.

use crate::side::Entrant;
use crate::workload::JinjaWorkload;

/// The engine with the templates of `work` compiled.
pub(crate) fn entrant(_work: &JinjaWorkload) -> Entrant {
    Entrant::Absent("this build has no jinja engine".into())
}
