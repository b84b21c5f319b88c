//! Prints what estimates are computed from, for `tests/tokenizers/fit.py`: one line for each file named on standard input.

use std::{error::Error, fs, io};

#[expect(clippy::print_stdout, reason = "it is a program")]
fn main() -> Result<(), Box<dyn Error>> {
    for path in io::stdin().lines() {
        let text = fs::read_to_string(path?)?;
        println!("{}", serde_json::to_string(&hinagata_tokens::tally_for_measurement(&text))?);
    }
    Ok(())
}
