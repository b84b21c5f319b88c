//! Which values of a render are secret.

use super::{layers::Layers, plan::Plan};
use crate::secrets::Secrets;

impl Secrets {
    pub(super) fn from_layers(plan: &Plan, layers: &Layers<'_>) -> Self {
        let mut all = Self::default();
        all.add_layers(plan, layers);
        all
    }

    /// Adds the current values of secret variables. Earlier values stay secret.
    pub(super) fn add_layers(&mut self, plan: &Plan, layers: &Layers<'_>) {
        for value in plan.secrets().filter_map(|name| layers.get(name)) {
            self.add_value(value);
        }
    }
}
