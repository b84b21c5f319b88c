//! Values, budget and output: the ground that both template languages stand on.

mod budget;
mod error;
mod limits;

pub use budget::{Budget, Cancel, Level};
pub use error::{Error, ErrorKind, LimitKind, Place, Result};
pub use limits::Limits;
