//! Writes the text of a context.

use std::io::{self, Write};

use crate::{frame::Frame, options::Resource};

/// Writes files and sections as they arrive.
#[derive(Debug)]
pub(crate) struct TextWriter<W> {
    out: W,
    frame: Frame,
    /// Whether something was written.
    any: bool,
    /// Whether something was written in the current section; `None` outside of sections.
    any_in_section: Option<bool>,
}

impl<W: Write> TextWriter<W> {
    pub(crate) fn new(out: W, frame: Frame) -> Self {
        Self { out, frame, any: false, any_in_section: None }
    }

    /// A writer for the content of a section.
    pub(crate) fn for_section(out: W, frame: Frame) -> Self {
        Self { out, frame, any: false, any_in_section: Some(false) }
    }

    pub(crate) fn frame(&self) -> Frame {
        self.frame
    }

    fn separate(&mut self) -> io::Result<()> {
        match self.any_in_section.replace(true) {
            Some(true) => self.put(self.frame.separator()),
            Some(false) => Ok(()),
            None => {
                self.any_in_section = None;
                self.start_section()
            }
        }
    }

    fn start_section(&mut self) -> io::Result<()> {
        let before = if self.any { self.frame.separator() } else { self.frame.enclosing_lines().0 };
        self.any = true;
        self.put(before)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    pub(crate) fn write_file(&mut self, path: &str, content: &str) -> io::Result<()> {
        self.separate()?;
        let around = self.frame.enclose_file(path, content);
        self.put(&around.open)?;
        let content = self.frame.escape_content(content);
        self.put(&content)?;
        self.put(&around.close)
    }

    /// Starts the section of a resource.
    pub(crate) fn open_section(&mut self, resource: &Resource, empty: bool) -> io::Result<()> {
        self.start_section()?;
        let open = self.frame.enclose_resource(resource.label(), resource.description.as_deref(), empty).open;
        self.any_in_section = Some(false);
        self.put(&open)
    }

    /// Writes the text of a template resource.
    pub(crate) fn write_rendered(&mut self, text: &str) -> io::Result<()> {
        let text = self.frame.frame_rendered(text);
        self.put(&text)
    }

    pub(crate) fn close_section(&mut self, resource: &Resource, empty: bool) -> io::Result<()> {
        self.any_in_section = None;
        let close =
            self.frame.enclose_resource(resource.label(), resource.description.as_deref(), empty).close;
        self.put(&close)
    }

    /// Ends the text and returns the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if self.any {
            self.put(self.frame.enclosing_lines().1)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

impl Resource {
    /// The name in the text: the name, else the id.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}
