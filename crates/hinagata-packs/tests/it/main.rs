//! Packs as doors use them: files of a workspace and decisions of the user in, a catalog and answers out.

mod approvals;
mod crashes;
mod install;
mod packs;
mod processes;
mod support;
mod watch;
