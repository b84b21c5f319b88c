//! Values that parameters take from the project directory of the caller.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use hinagata_catalog::untrusted_error;
use serde_json::Value;

use super::{
    explain::Tracer,
    layers::{Layer, Layers, Origin},
    pipeline::Call,
    rendered::Warning,
};
use crate::{Code, Error, Reason, Result, definition::ProjectValue, ports::ProjectText};

impl Call<'_> {
    /// Inserts the values that come from the project, if a template can reach them and nobody passes them. A failure is an
    /// error, or a warning if the parameter has a default.
    pub(super) async fn insert_project_values(
        &self,
        layers: &mut Layers<'_>,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<()> {
        for (name, value) in &self.plan.project {
            let known = layers.visible_hit(name.as_str()).map(|hit| hit.layer);
            if !self.plan.reaches(name) || known.is_some_and(|layer| layer >= Layer::Agent) {
                continue;
            }
            let started = Instant::now();
            let made = self.project_text(value).await;
            if let Some(tracer) = tracer {
                tracer.record_call("project", name, started.elapsed(), made.as_ref().err());
            }
            match made {
                Ok(ProjectText { text, warnings: more }) => {
                    warnings.extend(more.into_iter().map(|(about, error)| Warning::new(about, error)));
                    let origin = Origin::Source(value.to_json().to_string().into());
                    layers.insert_value(Layer::Project, origin, name, Value::String(text));
                }
                Err(error) if known.is_some() => warnings.push(Warning::new(name.as_str(), error)),
                Err(error) => return Err(error.with("parameter", name.as_str())),
            }
        }
        Ok(())
    }

    async fn project_text(&self, value: &ProjectValue) -> Result<ProjectText> {
        let context = self.request.context;
        let directory =
            context.project.clone().or_else(|| context.workspace_path.as_ref().map(PathBuf::from));
        let directory = directory.ok_or_else(|| {
            unavailable("this call has no project directory").with_hint(
                "pass a value, or set the project directory: `--project`, or the setting `server.project`",
            )
        })?;
        if let Some(home) = &self.plan.untrusted_home
            && !self.is_at_home(&directory)
        {
            return Err(untrusted_error(home, "its prompts take no values from a project"));
        }
        let reader = self.engine.0.ports.project.as_ref();
        let reader =
            reader.ok_or_else(|| unavailable("this program reads no projects").with_hint("pass a value"))?;
        reader.read_project(&directory, value).await
    }

    /// Whether `directory` is part of the workspace or library that the prompt comes from.
    pub(super) fn is_at_home(&self, directory: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(directory).starts_with(real(self.home_directory()))
    }
}

fn unavailable(message: &str) -> Error {
    Error::new(Code::Validation, message).with_reason(Reason::Arguments)
}
