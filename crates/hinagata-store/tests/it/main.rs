//! Shared documents in memory, in a file and in Redis.

mod documents;
mod embedded;
mod redis;
mod support;
