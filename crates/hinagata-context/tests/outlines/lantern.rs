// Copyright of the people who keep the lanterns.
//
// You may light them, carry them and hand them on, as long as this
// notice stays with them and nobody is told that they never go out.

//! Lanterns, and who carries them.
//!
//! A lantern burns oil. A carrier has any number of lanterns and a route,
//! which is a list of the places that the carrier visits at night.

use std::{
    collections::BTreeMap,
    fmt,
};

/// The places of the usual route.
pub static ROUTE: &[(&str, u32)] = &[
    ("gate", 1),
    ("well", 2),
    ("mill", 3),
    ("bridge", 4),
    ("tower {", 5),
    ("harbour }", 6),
];

const SIGN: char = '{';
const ESCAPED: char = '\'';
const RAW: &str = r#"a "raw" string with } and " in it"#;

/// A lantern.
///
/// It burns until its oil is used up. Whoever carries it fills it again,
/// because a lantern that went out once is hard to find in the dark.
#[derive(Clone, Debug)]
pub struct Lantern<'a> {
    /// Its owner.
    pub owner: &'a str,
    oil: u32,
}

/// What can happen to a lantern.
pub enum Event {
    Lit,
    Filled(u32),
    Dropped { place: String },
}

impl<'a> Lantern<'a> {
    /// A full lantern.
    pub const fn new(owner: &'a str) -> Self {
        Self { owner, oil: 100 }
    }

    /// Burns some oil.
    pub fn burn(&mut self, hours: u32) -> Result<(), Event> {
        let needed = hours * 7; // more in winter }
        if needed > self.oil {
            self.oil = 0;
            return Err(Event::Dropped { place: format!("{{{}}}", self.owner) });
        }
        self.oil -= needed;
        Ok(())
    }
}

impl fmt::Display for Lantern<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        /* a comment /* in a comment } */ still one */
        write!(formatter, "{}", self.owner)?;
        write!(formatter, " {}", self.oil)
    }
}

pub trait Carrier {
    type Load;
    const NAME: &'static str;

    fn lanterns(&self) -> usize;

    fn is_busy(&self) -> bool {
        self.lanterns() > 0
    }
}

macro_rules! lantern {
    ($owner:expr) => {
        Lantern::new($owner)
    };
    () => {
        Lantern::new("nobody")
    };
}

thread_local! {
    static LIT: BTreeMap<u32, String> = const { BTreeMap::new() };
}

/// Counts what is left.
pub(crate) fn count_oil<'a, I>(lanterns: I) -> impl Iterator<Item = u32>
where
    I: IntoIterator<Item = &'a Lantern<'a>>,
{
    let filter = |lantern: &&Lantern<'_>| {
        let is_lit = lantern.oil > 0;
        is_lit
    };
    lanterns.into_iter().filter(filter).map(|lantern| lantern.oil)
}

unsafe extern "C" {
    fn lamp_open(path: *const u8) -> i32;
    fn lamp_close(lamp: i32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_lantern_is_full() {
        let lantern = lantern!("Ada");
        assert_eq!(lantern.oil, 100);
        assert_eq!(lantern.to_string(), "Ada 100");
    }
}
