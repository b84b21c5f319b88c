//! Requests to listed hosts.

mod client;
