//! Packs as doors use them: from the files of a workspace and the decisions of the user to a catalog and results.

mod approvals;
mod crashes;
mod install;
mod packs;
mod processes;
mod support;
mod watch;
