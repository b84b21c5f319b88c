//! Tests of hooks in confined processes.

mod bytecode;
mod control;
mod escape;
mod hooks;
mod http;
mod legal;
mod support;
