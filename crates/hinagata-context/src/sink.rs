//! Receives the parts of a text in order: in memory, or straight into a writer.

use std::io::Write;

use hinagata_tokens::{PartCount, TokenCount};

use crate::{
    Result,
    count::CountedText,
    frame::{Frame, ResourceBody},
    options::{Resource, ResourceKind},
    packed::{Metadata, PackedFile, PackedKind, PackedResource},
    report::PackedForm,
    rungs::state_word,
    section::Section,
    writer::TextWriter,
};

/// A file to print.
#[derive(Clone, Debug)]
pub(crate) struct PrintedFile {
    pub(crate) path: String,
    pub(crate) form: PackedForm,
    pub(crate) content: String,
    /// The count of its text with the lines around it, unless the text was changed since.
    pub(crate) count: Option<PartCount>,
}

/// Receives packed files, resources and sections.
pub(crate) trait Sink {
    fn file(&mut self, resource: Option<&Resource>, file: &PrintedFile) -> Result<()>;
    fn template(&mut self, resource: &Resource, text: &str) -> Result<()>;
    /// Called after the last file of a bundle.
    fn end(&mut self, resource: &Resource) -> Result<()>;
    fn section(&mut self, section: &Section) -> Result<()>;
    /// A part that has its frame already.
    fn framed(&mut self, text: &str) -> Result<()>;
}

/// Collects files, resources and text in memory.
pub(crate) struct Collected {
    pub(crate) files: Vec<PackedFile>,
    pub(crate) resources: Vec<PackedResource>,
    text: Streamed<Vec<u8>>,
}

impl Collected {
    pub(crate) fn new(frame: Frame) -> Self {
        Self { files: Vec::new(), resources: Vec::new(), text: Streamed::new(Vec::new(), frame) }
    }

    /// The files, the resources and the text.
    pub(crate) fn finish(self) -> Result<(Vec<PackedFile>, Vec<PackedResource>, String)> {
        Ok((self.files, self.resources, into_text(self.text.finish()?)))
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("only UTF-8 text was written")
}

impl Sink for Collected {
    fn file(&mut self, resource: Option<&Resource>, file: &PrintedFile) -> Result<()> {
        let first = !self.text.open;
        self.text.file(resource, file)?;
        let PrintedFile { path, form, content, .. } = file;
        let (path, content) = (path.clone(), content.clone());
        let file = PackedFile { path, bytes: content.len() as u64, content, form: *form };
        let Some(resource) = resource else {
            self.files.push(file);
            return Ok(());
        };
        match self.resources.last_mut().and_then(|last| last.files.as_mut()).filter(|_| !first) {
            Some(files) => files.push(file),
            None => self.resources.push(packed_resource(resource, String::new(), Some(vec![file]))),
        }
        Ok(())
    }

    fn template(&mut self, resource: &Resource, text: &str) -> Result<()> {
        self.text.template(resource, text)?;
        self.resources.push(packed_resource(resource, text.to_owned(), None));
        Ok(())
    }

    fn end(&mut self, resource: &Resource) -> Result<()> {
        if let Some(last) = self.resources.last_mut().filter(|_| self.text.open) {
            let mut writer = TextWriter::for_bundle(Vec::new(), self.text.writer.frame());
            for file in last.files.iter().flatten() {
                writer.write_file(&file.path, state_word(file.form), &file.content)?;
            }
            last.text = into_text(writer.finish()?);
        }
        self.text.end(resource)
    }

    fn section(&mut self, section: &Section) -> Result<()> {
        self.text.section(section)
    }

    fn framed(&mut self, text: &str) -> Result<()> {
        self.text.framed(text)
    }
}

fn packed_resource(resource: &Resource, text: String, files: Option<Vec<PackedFile>>) -> PackedResource {
    let (kind, metadata) = match &resource.kind {
        ResourceKind::Bundle { virtual_path, .. } => {
            (PackedKind::Bundle, virtual_path.clone().map(|virtual_path| Metadata { virtual_path }))
        }
        ResourceKind::Template { .. } => (PackedKind::Template, None),
    };
    let Resource { id, name, description, .. } = resource.clone();
    PackedResource { id, kind, name, description, text, files, metadata }
}

/// Writes files, resources and sections as they arrive.
pub(crate) struct Streamed<W> {
    writer: TextWriter<W>,
    /// Whether the section of a bundle is open.
    open: bool,
}

impl<W: Write> Streamed<W> {
    pub(crate) fn new(out: W, frame: Frame) -> Self {
        Self { writer: TextWriter::new(out, frame), open: false }
    }

    /// Ends the text and returns the output.
    pub(crate) fn finish(self) -> Result<W> {
        Ok(self.writer.finish()?)
    }
}

impl<W: Write> Streamed<W> {
    /// Opens the section of a bundle before its first file.
    fn open_bundle(&mut self, resource: Option<&Resource>) -> Result<()> {
        if let Some(resource) = resource.filter(|_| !self.open) {
            self.open = true;
            self.writer.open_resource(resource, ResourceBody::Files)?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for Streamed<W> {
    fn file(&mut self, resource: Option<&Resource>, file: &PrintedFile) -> Result<()> {
        self.open_bundle(resource)?;
        Ok(self.writer.write_file(&file.path, state_word(file.form), &file.content)?)
    }

    fn template(&mut self, resource: &Resource, text: &str) -> Result<()> {
        let body = if text.is_empty() { ResourceBody::Nothing } else { ResourceBody::Text };
        self.writer.open_resource(resource, body)?;
        self.writer.write_rendered(text)?;
        Ok(self.writer.close_resource(resource, body)?)
    }

    fn end(&mut self, resource: &Resource) -> Result<()> {
        if std::mem::take(&mut self.open) {
            self.writer.close_resource(resource, ResourceBody::Files)?;
        }
        Ok(())
    }

    fn section(&mut self, section: &Section) -> Result<()> {
        Ok(self.writer.write_section(section)?)
    }

    fn framed(&mut self, text: &str) -> Result<()> {
        Ok(self.writer.write_framed(text)?)
    }
}

/// Counts the tokens of a text, on its way to another sink if there is one.
pub(crate) struct Counted<'s> {
    sink: Option<&'s mut dyn Sink>,
    count: Streamed<CountedText>,
}

impl<'s> Counted<'s> {
    pub(crate) fn new(sink: Option<&'s mut dyn Sink>, count: CountedText, frame: Frame) -> Self {
        Self { sink, count: Streamed::new(count, frame) }
    }

    /// The tokens of the whole text, if tokens are counted.
    pub(crate) fn total(self) -> Result<Option<TokenCount>> {
        Ok(self.count.finish()?.total())
    }

    fn pass_on(&mut self, pass: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<()> {
        match &mut self.sink {
            Some(sink) => pass(&mut **sink),
            None => Ok(()),
        }
    }
}

impl Sink for Counted<'_> {
    fn file(&mut self, resource: Option<&Resource>, file: &PrintedFile) -> Result<()> {
        match &file.count {
            Some(count) => {
                self.count.open_bundle(resource)?;
                self.count.writer.count_file(count)?;
            }
            None => self.count.file(resource, file)?,
        }
        self.pass_on(|sink| sink.file(resource, file))
    }

    fn template(&mut self, resource: &Resource, text: &str) -> Result<()> {
        self.count.template(resource, text)?;
        self.pass_on(|sink| sink.template(resource, text))
    }

    fn end(&mut self, resource: &Resource) -> Result<()> {
        self.count.end(resource)?;
        self.pass_on(|sink| sink.end(resource))
    }

    fn section(&mut self, section: &Section) -> Result<()> {
        self.count.section(section)?;
        self.pass_on(|sink| sink.section(section))
    }

    fn framed(&mut self, text: &str) -> Result<()> {
        self.count.framed(text)?;
        self.pass_on(|sink| sink.framed(text))
    }
}
