//! Why a request failed.

use std::{fmt, time::Duration};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// The host is not allowed.
    Forbidden(String),
    /// The request is invalid.
    Invalid(String),
    /// No response arrived within this time.
    Timeout(Duration),
    /// The connection failed.
    Connection(String),
    /// The response exceeds this many bytes.
    TooLarge(usize),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) | Self::Invalid(why) | Self::Connection(why) => f.write_str(why),
            Self::Timeout(time) => write!(f, "no response within {} s", time.as_secs_f64()),
            Self::TooLarge(most) => write!(f, "the response exceeds {most} bytes"),
        }
    }
}

impl std::error::Error for HttpError {}
