//! What the tests of this crate share.

pub(crate) mod corpus;
pub(crate) mod functions;
pub(crate) mod generate;
pub(crate) mod go;
pub(crate) mod productions;
pub(crate) mod run;
