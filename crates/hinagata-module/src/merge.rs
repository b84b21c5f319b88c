//! Merges modules.

use std::collections::HashMap;

use crate::{
    Entry, Error, Order, Problem, PromptModule, SectionEntry, SectionName, SubsectionEntry, Text, entry::Item,
};

/// Merges the entries of `modules`, in their order.
///
/// Sections with the same name are merged: first plain entries, then headings, then headings of the second level. Headings
/// with the same title are merged too. A section of a single module stays unchanged. All contexts are created, and later
/// values replace earlier ones. Sections are in standard order.
///
/// # Errors
/// If two modules declare different sections with the same name.
pub fn merge_modules<C>(
    modules: impl IntoIterator<Item = PromptModule<C>>,
) -> Result<PromptModule<C>, Error> {
    let mut modules = modules.into_iter();
    let Some(first) = modules.next() else { return Ok(PromptModule::new()) };
    let Some(second) = modules.next() else { return Ok(first) };
    let mut merged = PromptModule::new();
    let mut sections: Vec<(SectionName, Vec<Vec<Entry<C>>>)> = Vec::new();
    for module in [first, second].into_iter().chain(modules) {
        merged.context.extend(module.context);
        for (name, entries) in module.sections {
            match sections.iter_mut().find(|(known, _)| known.is_same_section(&name)) {
                Some((known, all)) => {
                    agree(known, &name)?;
                    all.push(entries);
                }
                None => sections.push((name, vec![entries])),
            }
        }
    }
    sections.sort_by_key(|(name, _)| name.rank(Order::Standard));
    merged.sections = sections.into_iter().map(|(name, all)| (name, merge_entries(all))).collect();
    Ok(merged)
}

/// Checks that two modules mean the same section; both names of a standard section do.
fn agree(left: &SectionName, right: &SectionName) -> Result<(), Error> {
    match (left, right) {
        (SectionName::Custom(one), SectionName::Custom(other)) if one != other => Err(Problem::new(
            one.name.as_str(),
            format!(
                "declared twice: as `{}` in {} and as `{}` in {}",
                one.title, one.part, other.title, other.part
            ),
        )
        .with_hint("use the same declaration in both modules, or rename one of them")
        .into()),
        _ => Ok(()),
    }
}

fn merge_entries<C>(mut all: Vec<Vec<Entry<C>>>) -> Vec<Entry<C>> {
    if all.len() == 1 {
        return all.swap_remove(0);
    }
    let mut merged = Vec::with_capacity(all.iter().map(Vec::len).sum());
    let (mut sections, mut subsections) = (ByTitle::new(), ByTitle::new());
    for entry in all.into_iter().flatten() {
        match entry {
            Entry::Section(section) => sections.add(section, merge_sections),
            Entry::Subsection(subsection) => subsections.add(subsection, merge_subsections),
            plain => merged.push(plain),
        }
    }
    merged.extend(sections.in_order().map(Entry::Section));
    merged.extend(subsections.in_order().map(Entry::Subsection));
    merged
}

/// Headings with unique titles, in order of first appearance.
struct ByTitle<T> {
    all: Vec<T>,
    places: HashMap<Text, usize>,
}

trait Titled {
    fn title(&self) -> &Text;
}

impl<C> Titled for SectionEntry<C> {
    fn title(&self) -> &Text {
        &self.title
    }
}

impl<C> Titled for SubsectionEntry<C> {
    fn title(&self) -> &Text {
        &self.title
    }
}

impl<T: Titled> ByTitle<T> {
    fn new() -> Self {
        Self { all: Vec::new(), places: HashMap::new() }
    }

    fn add(&mut self, heading: T, merge: impl FnOnce(&mut T, T)) {
        match self.places.get(heading.title()) {
            Some(&place) => merge(&mut self.all[place], heading),
            None => {
                self.places.insert(heading.title().clone(), self.all.len());
                self.all.push(heading);
            }
        }
    }

    fn in_order(self) -> impl Iterator<Item = T> {
        self.all.into_iter()
    }
}

/// Merges texts first, then headings of the second level; other properties of the later one win.
fn merge_sections<C>(earlier: &mut SectionEntry<C>, later: SectionEntry<C>) {
    let mut merged = Vec::with_capacity(earlier.items.len() + later.items.len());
    let mut subsections = ByTitle::new();
    for item in std::mem::take(&mut earlier.items).into_iter().chain(later.items) {
        match item {
            Item::Subsection(subsection) => subsections.add(subsection, merge_subsections),
            plain => merged.push(plain),
        }
    }
    merged.extend(subsections.in_order().map(Item::Subsection));
    *earlier = SectionEntry { title: later.title, category: later.category, items: merged, meta: later.meta };
}

fn merge_subsections<C>(earlier: &mut SubsectionEntry<C>, later: SubsectionEntry<C>) {
    earlier.items.extend(later.items);
    earlier.meta = later.meta;
}
