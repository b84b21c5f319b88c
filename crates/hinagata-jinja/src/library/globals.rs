//! Functions that every template can call.
