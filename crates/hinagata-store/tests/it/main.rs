//! Shared documents in memory, in a file and in Redis.

mod documents;
mod embedded;
mod log;
mod redis;
mod support;
