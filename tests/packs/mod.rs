//! Packs from other places, with the real programs: git over ssh and http, minisign, an index over http; hostile
//! repositories, an index that lies, and processes that are killed.
#![cfg(all(target_os = "linux", feature = "fetch"))]

mod diff;
mod git;
mod index;
mod kill;
mod lock;
mod review;
mod servers;
mod signatures;
mod support;
