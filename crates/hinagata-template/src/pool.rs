//! Buffers that renders write to, used again.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

/// Buffers that are kept by default.
const COUNT: usize = 64;
/// Bytes of room that a kept buffer has at most by default.
const SIZE: usize = 256 << 10;

/// A bounded pool of text buffers, shared by its clones and between threads.
///
/// A buffer is taken for a render and comes back when the [`PooledText`] is dropped. The pool holds
/// at most so many buffers of at most such a size; what is beyond is freed, so that one large render
/// does not keep its memory for ever.
///
/// ```
/// use hinagata_template::{Language, Options, Pool, Render, Template};
/// use hinagata_value::Limits;
///
/// let pool = Pool::new(8, 64 << 10);
/// let template = Template::compile(Language::Jinja, "t", "Hi {{ name }}", &Options::default(), &Limits::default())?;
/// let text = Render::new().render_pooled(&template, &serde_json::json!({"name": "Rumi"}), &pool)?;
/// assert_eq!(&*text, "Hi Rumi");
/// drop(text);
/// assert_eq!(pool.len(), 1);
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    buffers: Mutex<Vec<String>>,
    count: usize,
    size: usize,
}

impl Pool {
    /// A pool that keeps at most `count` buffers with room for at most `size` bytes each.
    #[must_use]
    pub fn new(count: usize, size: usize) -> Self {
        Self(Arc::new(Shared { buffers: Mutex::default(), count, size }))
    }

    /// How many buffers are there to be taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffers(|buffers| buffers.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An empty buffer: one that was used before, or a new one without room.
    #[must_use]
    pub(crate) fn take_buffer(&self) -> String {
        self.buffers(Vec::pop).unwrap_or_default()
    }

    /// Gives a buffer back; it is freed when it is too large or there are enough.
    pub(crate) fn return_buffer(&self, mut buffer: String) {
        if buffer.capacity() == 0 || buffer.capacity() > self.0.size {
            return;
        }
        buffer.clear();
        self.buffers(|buffers| {
            if buffers.len() < self.0.count {
                buffers.push(buffer);
            }
        });
    }

    /// A text whose buffer comes back here.
    pub(crate) fn pooled_text(&self, text: String) -> PooledText {
        PooledText { text, pool: self.clone() }
    }

    /// A short critical section. Nothing in it panics, and the list is whole at any time.
    fn buffers<R>(&self, look: impl FnOnce(&mut Vec<String>) -> R) -> R {
        look(&mut self.0.buffers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new(COUNT, SIZE)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A rendered text in a buffer of a [`Pool`], which gets it back when this is dropped.
pub struct PooledText {
    text: String,
    pool: Pool,
}

impl PooledText {
    /// The text for good; the pool does not get the buffer back.
    #[must_use]
    pub fn into_string(mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

impl Deref for PooledText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl AsRef<[u8]> for PooledText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl fmt::Display for PooledText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for PooledText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Drop for PooledText {
    fn drop(&mut self) {
        self.pool.return_buffer(std::mem::take(&mut self.text));
    }
}
