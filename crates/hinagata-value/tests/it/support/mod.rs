//! What the tests of this crate share.

pub(crate) mod json;
pub(crate) mod produced;
pub(crate) mod world;
