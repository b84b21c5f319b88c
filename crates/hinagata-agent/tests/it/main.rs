//! Projects and their agents.

mod agents;
