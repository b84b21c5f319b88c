//! Why a request gave no answer.

use std::{fmt, time::Duration};

/// Why a request gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// It leads where it must not.
    Forbidden(String),
    /// It is no request.
    Invalid(String),
    /// There was no answer in this time.
    Timeout(Duration),
    /// There is no connection, or it broke.
    Connection(String),
    /// The answer has more bytes than this.
    TooLarge(usize),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) | Self::Invalid(why) | Self::Connection(why) => f.write_str(why),
            Self::Timeout(time) => write!(f, "there was no answer within {} s", time.as_secs_f64()),
            Self::TooLarge(most) => write!(f, "the answer has more than {most} bytes"),
        }
    }
}

impl std::error::Error for HttpError {}
