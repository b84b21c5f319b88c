//! The `config.yaml` of an older daemon as settings of a call.

use std::path::Path;

use hinagata::settings::Origin;
use hinagata_host::Environment;
use hinagata_server::legacy_config::{LegacyConfig, RAISED_LIMITS, read_legacy_config};

use crate::{
    failure::Failure,
    workspace::{Globals, Workspace},
};

/// Reads the file at `path`.
pub(crate) fn read_config_file(path: &Path) -> Result<LegacyConfig, Failure> {
    Ok(read_legacy_config(&path.display().to_string(), &read_config_text(path)?)?)
}

/// Reads the text of the file at `path`.
pub(crate) fn read_config_text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::not_found(format!("cannot read {}: {error}", path.display())))
}

/// The environment with the variables of the configuration.
pub(crate) fn config_environment(config: &LegacyConfig) -> Environment {
    let variables = config.environment.iter();
    variables.fold(Environment::default(), |all, (name, value)| all.with_variable(*name, value))
}

/// The options of the call with the settings of the configuration, which those of the call win over, and with higher
/// limits unless others are set.
pub(crate) fn with_config(globals: &Globals, config: &LegacyConfig) -> Result<Globals, Failure> {
    let raised = unset_limits(globals, config)?.into_iter().map(|(name, value)| format!("{name}={value}"));
    Ok(globals.below_settings(config.to_settings()).with_settings(raised))
}

/// The higher limits that count with the configuration, because no setting says otherwise.
pub(crate) fn unset_limits(
    globals: &Globals,
    config: &LegacyConfig,
) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    let workspace = Workspace::open_quietly(&globals.below_settings(config.to_settings()))?;
    let is_unset = |name: &str| {
        workspace.host.settings.get(name).is_none_or(|found| matches!(found.origin, Origin::Default))
    };
    Ok(RAISED_LIMITS.into_iter().filter(|(name, _)| is_unset(name)).collect())
}
