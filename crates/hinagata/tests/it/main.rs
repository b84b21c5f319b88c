//! The engine as embedders use it: files of a workspace in, prompts out.

mod catalog;
mod engine;
mod hooks;
mod ids;
mod injection;
mod layers;
mod libraries;
mod module_files;
mod modules;
mod settings_page;
mod source_map;
mod source_map_origins;
