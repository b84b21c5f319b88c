//! Python on Linux: forks of a warm interpreter, confined by the kernel.
//!
//! The reasons are in `docs/design/python-processes.md`.

pub(crate) mod launcher;
mod machine;
mod packet;
mod policy;
mod pool;
mod printed_output;
mod process;
mod reactor;
mod sandbox;
mod worker;
mod worker_cache;
mod zygote;

pub(crate) use self::pool::Pool;
