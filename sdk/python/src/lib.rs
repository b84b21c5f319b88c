//! Hinagata for Python: conversion, classes, awaiting. The engine decides everything else.
//!
//! The reasons are in `docs/design/python-package.md`.

mod call;
mod cases;
mod engine;
mod errors;
mod module;
mod opened;
mod rendered;
mod request;
mod template;
mod values;
mod variables;

use pyo3::prelude::*;

/// Becomes the Python of hooks. Only a process that was started for that calls it.
#[pyfunction]
fn _become_hook() {
    hinagata_python::run_launcher();
}

/// Before a fork: ends threads that nobody uses.
#[pyfunction]
fn _before_fork(py: Python<'_>) {
    py.detach(|| {
        opened::before_fork();
        call::close_idle_threads();
    });
}

/// After a fork, in the child.
#[pyfunction]
fn _after_fork_in_child() {
    opened::after_fork_in_child();
    call::after_fork_in_child();
}

/// At the end of the interpreter: ends processes and threads.
#[pyfunction]
fn _close_all(py: Python<'_>) {
    py.detach(|| {
        opened::close_all();
        call::close_idle_threads();
    });
}

/// The part of the package `hinagata` that is in Rust.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<engine::Watch>()?;
    module.add_class::<call::Pending>()?;
    module.add_class::<cases::CaseFile>()?;
    module.add_class::<rendered::Rendered>()?;
    module.add_class::<template::Template>()?;
    module.add_class::<variables::Variables>()?;
    module.add_function(wrap_pyfunction!(_become_hook, module)?)?;
    module.add_function(wrap_pyfunction!(_before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(_after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(_close_all, module)?)?;
    module::add_to(module)
}
