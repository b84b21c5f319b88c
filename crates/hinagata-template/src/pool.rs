//! A pool of buffers for rendered text.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

/// Default for the number of buffers in a pool.
const COUNT: usize = 64;
/// Default for the maximum capacity of a buffer, in bytes.
const SIZE: usize = 256 << 10;

/// A bounded pool of text buffers, shared by its clones and between threads.
///
/// A render takes a buffer, which returns to the pool when the [`PooledText`] is dropped. The number and the
/// size of the buffers are limited. Larger buffers are freed, so that one large render does not occupy its
/// memory forever.
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
    /// Creates a pool of at most `count` buffers with a capacity of at most `size` bytes each.
    #[must_use]
    pub fn new(count: usize, size: usize) -> Self {
        Self(Arc::new(Shared { buffers: Mutex::default(), count, size }))
    }

    /// Number of available buffers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffers(|buffers| buffers.len())
    }

    /// Whether no buffer is available.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes an empty buffer: a used one, or a new one without capacity.
    #[must_use]
    pub(crate) fn take_buffer(&self) -> String {
        self.buffers(Vec::pop).unwrap_or_default()
    }

    /// Returns a buffer to the pool. It is freed if it is too large or the pool is full.
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

    /// A text whose buffer returns to this pool.
    pub(crate) fn pooled_text(&self, text: String) -> PooledText {
        PooledText { text, pool: self.clone() }
    }

    /// Runs a short critical section. It does not panic, so the list is always consistent.
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

/// A rendered text in a buffer of a [`Pool`]. The buffer returns to the pool on drop.
pub struct PooledText {
    text: String,
    pool: Pool,
}

impl PooledText {
    /// The text. The buffer does not return to the pool.
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
