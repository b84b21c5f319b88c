//! The values of a render as Go values.

pub(crate) mod exotic;
pub(crate) mod host;
pub(crate) mod view;
