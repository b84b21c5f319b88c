//! What a render sees of the machine, replaced for some renders: tests fix it, and answer calls themselves.

use std::{fmt, sync::Arc};

use super::{Engine, system::Host};
use crate::ports::{Clock, Hooks, Model, Ports, Tools};

/// What renders see of the machine: its clock, its facts, and what runs outside of the engine.
///
/// ```
/// use std::{sync::Arc, time::{Duration, SystemTime, UNIX_EPOCH}};
///
/// use hinagata::{Engine, ports::Clock};
///
/// struct StoppedClock;
///
/// impl Clock for StoppedClock {
///     fn now(&self) -> SystemTime {
///         UNIX_EPOCH + Duration::from_secs(1_771_569_000)
///     }
/// }
///
/// let engine = Engine::open("no/such/workspace");
/// let mut surroundings = engine.surroundings();
/// surroundings.clock = Arc::new(StoppedClock);
/// surroundings.timezone = Some("Asia/Tokyo".to_owned());
/// let engine = engine.with_surroundings(surroundings);
/// # assert_eq!(engine.surroundings().timezone.as_deref(), Some("Asia/Tokyo"));
/// ```
#[derive(Clone)]
pub struct Surroundings {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The time zone of `system` variables: a name, or an offset such as `+09:00`; that of the machine if `None`.
    pub timezone: Option<String>,
    /// The value of `system.os`.
    pub os: String,
    /// The value of `system.language`.
    pub language: String,
    /// What runs Python.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// What answers calls of tools.
    pub tools: Option<Arc<dyn Tools>>,
    /// What answers calls of models in hooks.
    pub model: Option<Arc<dyn Model>>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("timezone", &self.timezone)
            .field("os", &self.os)
            .field("language", &self.language)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// What renders see of the machine.
    #[must_use]
    pub fn surroundings(&self) -> Surroundings {
        let (host, ports) = (&self.0.host, &self.0.ports);
        Surroundings {
            clock: Arc::clone(&ports.clock),
            timezone: host.timezone().map(str::to_owned),
            os: host.os.clone(),
            language: host.language.clone(),
            hooks: ports.hooks.clone(),
            tools: ports.tools.clone(),
            model: ports.model.clone(),
        }
    }

    /// An engine with the prompts of this moment that sees these surroundings.
    #[must_use]
    pub fn with_surroundings(&self, surroundings: Surroundings) -> Self {
        let Surroundings { clock, timezone, os, language, hooks, tools, model } = surroundings;
        let ports = Ports { clock, hooks, tools, model, ..self.0.ports.clone() };
        self.frozen_on(Host::new(timezone.as_deref(), Some(&os), Some(&language)), ports)
    }
}
