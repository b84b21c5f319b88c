//! Models, asked at a real server on this machine.

mod calls;
mod choices;
mod gates;
mod streams;
mod support;
mod transport;
