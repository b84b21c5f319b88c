//! A render with a record of its origins.

use std::fmt;

use hinagata_value::{Calls, Limits, Reads, Segments, Variables, Written};

use crate::{SourceMap, Template, data_paths::DataRoots, library::Library, map_builder::MapBuilder};

/// A rendered text with the record of its origins.
///
/// Recording only stores numbers: the source map is made of them when somebody asks for it. The data stays borrowed
/// until then, because the record refers to it.
///
/// ```
/// use hinagata_template::{Language, Options, Render, Template};
/// use hinagata_value::Limits;
///
/// let template = Template::compile(Language::Jinja, "t", "Hi {{ name }}", &Options::default(), &Limits::default())?;
/// let data = serde_json::json!({"name": "Rumi"});
/// let recorded = Render::new().render_recorded(&template, &data)?;
/// assert_eq!(recorded.written.text, "Hi Rumi");
/// assert_eq!(recorded.source_map().spans.len(), 2);
/// # Ok::<(), hinagata_value::Error>(())
/// ```
pub struct Recorded<'v> {
    /// The text with its marks.
    pub written: Written,
    /// The origins of its pieces. `None` for a template that only writes texts and prints variables: as its data is
    /// borrowed, it can be recorded when the map is wanted.
    record: Option<Segments>,
    origins: Origins,
    data: DataRoots<'v>,
}

/// What the segments of a record refer to, besides data.
pub(crate) struct Origins {
    pub(crate) reads: Option<Box<Reads>>,
    pub(crate) root: Template,
    /// The other templates, with their numbers.
    pub(crate) loaded: Vec<(Template, u32)>,
}

impl Origins {
    pub(crate) fn new(library: &Library<'_>, reads: Option<Box<Reads>>) -> Self {
        let loaded = library.loaded_templates().map(|(template, number)| (template.clone(), number));
        Self { reads, root: library.root().clone(), loaded: loaded.collect() }
    }
}

impl<'v> Recorded<'v> {
    #[inline]
    pub(crate) fn new(
        written: Written<Segments>,
        origins: Origins,
        variables: &'v dyn Variables,
        calls: Option<&'v Calls>,
    ) -> Self {
        let Written { text, marks, ends_with_value, provenance } = written;
        let written = Written { text, marks, ends_with_value, ..Written::default() };
        Self { written, record: Some(provenance), origins, data: DataRoots { variables, calls } }
    }

    /// The output of a plain template.
    #[inline]
    pub(crate) fn plain(written: Written, root: &Template, variables: &'v dyn Variables) -> Self {
        let origins = Origins { reads: None, root: root.clone(), loaded: Vec::new() };
        Self { written, record: None, origins, data: DataRoots { variables, calls: None } }
    }

    /// Where each piece of the text comes from.
    #[must_use]
    pub fn source_map(&self) -> SourceMap {
        let Origins { reads, root, loaded } = &self.origins;
        let (no_reads, again);
        let reads = match reads {
            Some(reads) => reads,
            None => {
                no_reads = Reads::default();
                &no_reads
            }
        };
        let record = match &self.record {
            Some(record) => record,
            None => {
                // The same template with the same data, which was within its limits.
                let limits = Limits { output: None, ..Limits::default() };
                let written = root.render_plain::<Segments>(&limits, self.data.variables);
                again = written.map(|written| written.provenance).unwrap_or_default();
                &again
            }
        };
        MapBuilder::new(root, loaded, reads, self.data).build(&self.written.text, record)
    }
}

impl fmt::Debug for Recorded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("written", &self.written).finish_non_exhaustive()
    }
}
