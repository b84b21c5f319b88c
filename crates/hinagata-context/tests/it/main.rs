//! Files packed into one text.

mod outline;
mod pack;
