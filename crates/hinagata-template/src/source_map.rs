//! Maps pieces of the output to their origins.

use std::sync::Arc;

use hinagata_value::{
    Place, Segment, Segments, Site,
    analysis::{PathPart, Usage, VariablePath, VariableUse},
};

use crate::{
    Template,
    library::{FIRST_GO, Library},
    template::Body,
};

/// The templates of one render. It converts the sites of segments to places.
#[derive(Clone, Debug)]
pub struct SourceMap(Arc<Vec<Mapped>>);

/// A template with its numbers in the render.
#[derive(Debug)]
struct Mapped {
    template: Template,
    first: u32,
    count: u32,
}

/// The origin of a piece of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The template, line and column.
    pub place: Place,
    /// The printed variable, such as `tools[3].name`, if it is only one. Items of a loop have an index if the
    /// loop follows the order of the data, else `[]`.
    pub variable: Option<String>,
}

impl SourceMap {
    pub(crate) fn from_library(library: &Library<'_>) -> Self {
        let root = library.root();
        let mapped = |template: &Template, first| Mapped {
            template: template.clone(),
            first,
            count: match template.body() {
                Body::Jinja(_) => 1,
                Body::Go(go) => go.set.len() as u32,
            },
        };
        let first = if matches!(root.body(), Body::Go(_)) { FIRST_GO } else { 0 };
        let loaded = library.loaded_templates().map(|(template, first)| mapped(template, first));
        let mut all: Vec<_> = [mapped(root, first)].into_iter().chain(loaded).collect();
        all.sort_by_key(|mapped| mapped.first);
        Self(Arc::new(all))
    }

    /// The place of a site, without the text of its line: every piece of output has a site, and all of them may
    /// be on one long line.
    #[must_use]
    pub fn place(&self, site: Site) -> Option<Place> {
        let mapped = self.find_mapped(site)?;
        match mapped.template.body() {
            Body::Jinja(template) => {
                let (source, start) = (template.source(), site.node);
                let (line, column) = source.line_column(start);
                let template = source.name().to_owned();
                Some(Place { template, line, column, span: Some((start, start)), excerpt: None })
            }
            Body::Go(go) => go.set.place(site, mapped.first).map(|place| Place { excerpt: None, ..place }),
        }
    }

    /// The origin of a segment of `segments`.
    #[must_use]
    pub fn origin(&self, segments: &Segments, segment: &Segment) -> Option<Origin> {
        let place = self.place(segment.site)?;
        Some(Origin { place, variable: self.variable(segments, segment) })
    }

    /// Whether the node at a site prints a value.
    pub(crate) fn is_printed(&self, site: Site) -> bool {
        self.find_mapped(site).is_some_and(|mapped| {
            mapped.offset(site).is_some_and(|offset| mapped.template.analysis().prints.contains_key(&offset))
        })
    }

    fn find_mapped(&self, site: Site) -> Option<&Mapped> {
        let after = self.0.partition_point(|mapped| mapped.first <= site.template);
        let mapped = self.0.get(after.checked_sub(1)?)?;
        (site.template - mapped.first < mapped.count).then_some(mapped)
    }

    fn variable(&self, segments: &Segments, segment: &Segment) -> Option<String> {
        let path = self.find_mapped(segment.site)?.printed_variable(segment.site)?;
        let mut parts = path.parts.to_vec();
        for (number, part) in parts.iter_mut().enumerate().filter(|(_, part)| **part == PathPart::Each) {
            let gone_over = VariablePath { root: path.root.clone(), parts: path.parts[..number].into() };
            let turn = segments.turns_of(segment).find(|turn| {
                let mapped = self.find_mapped(turn.site);
                mapped.and_then(|mapped| mapped.iterated_variable(turn.site)) == Some(&gone_over)
            });
            if let Some(turn) = turn {
                *part = PathPart::Index(i64::from(turn.index));
            }
        }
        Some(VariablePath { root: path.root.clone(), parts: parts.into() }.to_string())
    }
}

impl Mapped {
    /// The byte offset of a site in the source.
    fn offset(&self, site: Site) -> Option<u32> {
        match self.template.body() {
            Body::Jinja(_) => Some(site.node),
            Body::Go(go) => go.set.offset(site, self.first),
        }
    }

    /// The variable that the node at a site prints, if it is only one.
    fn printed_variable(&self, site: Site) -> Option<&VariablePath> {
        let of_data = |item: &&VariableUse| item.usage != Usage::Condition;
        let (analysis, start) = (self.template.analysis(), self.offset(site)?);
        let end = *analysis.prints.get(&start)?;
        let first = analysis.variables.partition_point(|item| item.position.start < start);
        let inside = analysis.variables[first..].iter().take_while(|item| item.position.start < end);
        let mut paths = inside.filter(of_data).map(|item| &item.path);
        let first = paths.next()?;
        paths.all(|path| path == first).then_some(first)
    }

    /// The path that the loop at a site iterates over.
    fn iterated_variable(&self, site: Site) -> Option<&VariablePath> {
        self.template.analysis().loops.get(&self.offset(site)?)
    }
}
