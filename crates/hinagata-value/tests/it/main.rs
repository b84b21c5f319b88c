//! Values, budgets and output.

mod accounting;
mod calls;
mod changes;
mod depth;
mod json;
mod limits;
mod maps;
mod provenance;
mod support;
mod values;
