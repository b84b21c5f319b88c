//! The formats that a rendered prompt can be printed or sent in.

use super::Driver;

/// A format of a rendered prompt: text, messages, or the request of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    /// One text.
    Text,
    /// A list of messages.
    Messages,
    /// The body of a provider's request.
    Request(Driver),
}

impl OutputFormat {
    /// All formats: text, messages, and one for each driver.
    pub const ALL: [Self; 2 + Driver::ALL.len()] = {
        let mut all = [Self::Text; 2 + Driver::ALL.len()];
        all[1] = Self::Messages;
        let mut index = 0;
        while index < Driver::ALL.len() {
            all[index + 2] = Self::Request(Driver::ALL[index]);
            index += 1;
        }
        all
    };

    /// The name in commands and requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Messages => "messages",
            Self::Request(driver) => driver.name(),
        }
    }

    /// One sentence about the format, without a full stop.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Text => "One text; the texts of several messages are joined by blank lines",
            Self::Messages => "A list of messages; a prompt that is one text becomes one user message",
            Self::Request(driver) => driver.description(),
        }
    }

    /// The format with this name; drivers have the aliases of [`Driver::from_name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let format = Self::ALL.into_iter().find(|format| format.name() == name);
        format.or_else(|| Driver::from_name(name).ok().map(Self::Request))
    }

    /// The driver that writes the request, if the format is one.
    #[must_use]
    pub const fn driver(self) -> Option<Driver> {
        match self {
            Self::Text | Self::Messages => None,
            Self::Request(driver) => Some(driver),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name_and_every_driver_is_a_format() {
        for format in OutputFormat::ALL {
            assert_eq!(OutputFormat::from_name(format.name()), Some(format));
        }
        let drivers: Vec<Driver> = OutputFormat::ALL.into_iter().filter_map(OutputFormat::driver).collect();
        assert_eq!(drivers, Driver::ALL);
        assert_eq!(OutputFormat::from_name("vertex"), Some(OutputFormat::Request(Driver::Gemini)));
        assert_eq!(OutputFormat::from_name("yaml"), None);
    }
}
