//! Files packed into one text.

mod pack;
