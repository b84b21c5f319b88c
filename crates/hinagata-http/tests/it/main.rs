//! Tests of requests to listed hosts.

mod client;
