//! Models, asked at a real server on this machine.

mod calls;
mod choices;
mod completions;
mod gates;
mod streams;
mod support;
mod transport;
