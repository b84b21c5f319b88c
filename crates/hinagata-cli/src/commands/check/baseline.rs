//! Files with known findings.

use std::path::Path;

use hinagata_check::{Finding, report::Baseline};

use super::count_text;
use crate::{failure::Failure, output};

pub(super) fn read_file(path: &Path) -> Result<Baseline, Failure> {
    let wrong = |message: String| Failure::usage_error(format!("`{}`: {message}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let json = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Baseline::from_json(&json).map_err(wrong)
}

pub(super) fn write_file(path: &Path, findings: &[Finding]) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::system_error(format!("cannot write `{}`: {error}", path.display()));
    let mut text = serde_json::to_string_pretty(&Baseline::from_findings(findings).to_json())
        .map_err(|error| failed(error.into()))?;
    text.push('\n');
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    output::print_status(&format!("wrote {} to {}\n", count_text(findings.len()), path.display()));
    Ok(())
}
