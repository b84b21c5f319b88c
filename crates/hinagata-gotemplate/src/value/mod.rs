//! What Go makes of the values of a render.

pub(crate) mod exotic;
pub(crate) mod host;
pub(crate) mod view;
