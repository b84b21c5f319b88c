//! What the tests of this crate share.

pub(crate) mod functions;
pub(crate) mod run;
