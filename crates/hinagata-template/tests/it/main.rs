//! Both template languages behind one type.

mod analysis;
mod cache;
mod content;
mod fixtures;
mod injection;
mod jinja_length;
mod joining;
mod large_maps;
mod length;
mod limits;
mod meter;
mod needed;
mod origins;
mod plain;
mod pool;
mod waiting;
