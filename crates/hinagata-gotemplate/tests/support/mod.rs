//! What the tests of this crate share; each of them uses a part of it.
#![allow(dead_code)]

pub(crate) mod functions;
pub(crate) mod generate;
pub(crate) mod go;
pub(crate) mod run;
