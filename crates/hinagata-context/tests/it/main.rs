//! Behaviour of packing on real directory trees.

mod budget;
mod git;
mod links;
mod outline;
mod pack;
mod report;
mod sections;
mod support;
