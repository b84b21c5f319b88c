//! Python on Linux: a warm interpreter that forks, confined by the kernel.

pub(crate) mod launcher;
mod machine;
mod packet;
mod policy;
mod pool;
mod printed;
mod process;
mod reactor;
mod sandbox;
mod shelf;
mod worker;
mod zygote;

pub(crate) use self::pool::Pool;
