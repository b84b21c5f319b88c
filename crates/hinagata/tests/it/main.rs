//! The engine as embedders use it: files of a workspace in, prompts out.

mod approvals;
mod catalog;
mod crashes;
mod engine;
mod hooks;
mod ids;
mod injection;
mod install;
mod modules;
mod packs;
mod processes;
mod settings_page;
mod support;
mod watch;
