//! Writes the text of a context.

use std::io::{self, Write};

use hinagata_tokens::PartCount;

use crate::{
    count::CountedText,
    frame::{Frame, Group, ResourceBody},
    options::Resource,
    section::Section,
};

/// Writes files and sections as they arrive.
#[derive(Debug)]
pub(crate) struct TextWriter<W> {
    out: W,
    frame: Frame,
    /// Whether something was written.
    any: bool,
    /// The group that is open.
    group: Option<Group>,
    /// Whether something was written in the current bundle; `None` outside of bundles.
    any_in_bundle: Option<bool>,
}

impl<W: Write> TextWriter<W> {
    pub(crate) fn new(out: W, frame: Frame) -> Self {
        Self { out, frame, any: false, group: None, any_in_bundle: None }
    }

    /// A writer for the content of a bundle.
    pub(crate) fn for_bundle(out: W, frame: Frame) -> Self {
        Self { any_in_bundle: Some(false), ..Self::new(out, frame) }
    }

    pub(crate) fn frame(&self) -> Frame {
        self.frame
    }

    /// Prepares for the next part, which belongs to `group`.
    fn start_part(&mut self, group: Option<Group>) -> io::Result<()> {
        let continues = group.is_some() && self.group == group;
        if !continues {
            self.close_group()?;
        }
        let before = if self.any { self.frame.separator() } else { self.frame.enclosing_lines().0 };
        self.any = true;
        self.put(before)?;
        if let Some(group) = group.filter(|_| !continues) {
            self.group = Some(group);
            self.put(self.frame.enclose_group(group).0)?;
        }
        Ok(())
    }

    fn close_group(&mut self) -> io::Result<()> {
        match self.group.take() {
            Some(group) => self.put(self.frame.enclose_group(group).1),
            None => Ok(()),
        }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes a file; `state` says how it is in the text, unless that is the whole file.
    pub(crate) fn write_file(&mut self, path: &str, state: Option<&str>, content: &str) -> io::Result<()> {
        self.start_file()?;
        let around = self.frame.enclose_file(path, state, content);
        self.put(&around.open)?;
        let content = self.frame.escape_content(content);
        self.put(&content)?;
        self.put(&around.close)
    }

    /// Prepares for the next file.
    fn start_file(&mut self) -> io::Result<()> {
        match self.any_in_bundle.as_mut().map(|any| std::mem::replace(any, true)) {
            Some(true) => self.put(self.frame.separator()),
            Some(false) => Ok(()),
            None => self.start_part(Some(Group::Files)),
        }
    }

    /// Writes a section.
    pub(crate) fn write_section(&mut self, section: &Section) -> io::Result<()> {
        let text = self.frame.frame_section(section.kind, &section.text);
        self.write_framed(&text)
    }

    /// Writes a part that has its frame already.
    pub(crate) fn write_framed(&mut self, text: &str) -> io::Result<()> {
        self.start_part(None)?;
        self.put(text)
    }

    /// Starts the section of a resource.
    pub(crate) fn open_resource(&mut self, resource: &Resource, body: ResourceBody) -> io::Result<()> {
        self.start_part(Some(Group::Resources))?;
        let open = self.frame.enclose_resource(resource.label(), resource.description.as_deref(), body).open;
        self.any_in_bundle = Some(false);
        self.put(&open)
    }

    /// Writes the text of a template resource.
    pub(crate) fn write_rendered(&mut self, text: &str) -> io::Result<()> {
        let text = self.frame.frame_rendered(text);
        self.put(&text)
    }

    pub(crate) fn close_resource(&mut self, resource: &Resource, body: ResourceBody) -> io::Result<()> {
        self.any_in_bundle = None;
        let close =
            self.frame.enclose_resource(resource.label(), resource.description.as_deref(), body).close;
        self.put(&close)
    }

    /// Ends the text and returns the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.close_group()?;
        if self.any {
            self.put(self.frame.enclosing_lines().1)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

impl TextWriter<CountedText> {
    /// Counts a file with the count that it has.
    pub(crate) fn count_file(&mut self, count: &PartCount) -> io::Result<()> {
        self.start_file()?;
        self.out.push_part(count);
        Ok(())
    }
}

impl Resource {
    /// The name in the text: the name, else the id.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}
