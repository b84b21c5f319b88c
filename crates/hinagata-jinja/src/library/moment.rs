//! Dates as `strftime` writes them.
