//! Tests of the server: texts stay those of the client, and nothing that is typed stops it.

mod edits;
mod session;
