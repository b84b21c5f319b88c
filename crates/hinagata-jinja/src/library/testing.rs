//! A run for the unit tests of the library.
