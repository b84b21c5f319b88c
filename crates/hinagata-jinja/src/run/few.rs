//! A list that usually has one item.

use std::ops::{Index, IndexMut};

/// A list whose first item needs no allocation, because most renders have one template and one context.
pub(super) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Few<T> {
    pub(super) fn new() -> Self {
        Self { first: None, rest: Vec::new() }
    }

    pub(super) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.rest.push(item),
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        if index == 0 { self.first.as_ref() } else { self.rest.get(index - 1) }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

impl<T> Index<usize> for Few<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match (index, &self.first) {
            (0, Some(first)) => first,
            _ => &self.rest[index - 1],
        }
    }
}

impl<T> IndexMut<usize> for Few<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        match (index, &mut self.first) {
            (0, Some(first)) => first,
            _ => &mut self.rest[index - 1],
        }
    }
}
