//! Emits canonical text from a walk over a value.

use std::cmp::Ordering;

use super::order::{is_plain, prefix, utf16_order};
use super::scan::find_special;
use super::{MAX_DEPTH, MAX_SAFE_INTEGER, number};
use crate::error::{Error, Refusal};

/// Objects up to this length are sorted where they stand. Longer ones wait for one pass over the whole
/// text: text nested in many of them would otherwise move many times.
const MAX_MOVED: usize = 1024;

/// Writes one JSON value in canonical form.
///
/// The driver calls the methods in document order: a container is `begin_*`, its elements, `end`; a
/// member is [`Writer::begin_key`], [`Writer::string`], [`Writer::end_key`], then its value; an array
/// element is preceded by [`Writer::begin_element`].
#[derive(Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
    open: Vec<Open>,
    /// Members of the open objects, innermost last, followed by no others.
    members: Vec<Member>,
    /// Members of the objects in `shuffled`, in canonical order.
    sorted: Vec<Member>,
    /// Objects that must still be sorted, in the order in which they were closed.
    shuffled: Vec<Shuffled>,
    scratch: Vec<u8>,
}

/// A container that has begun and not ended.
#[derive(Debug)]
struct Open {
    start: u32,
    first_member: u32,
    first_shuffled: u32,
    is_object: bool,
    out_of_order: bool,
}

/// One `"key":value` as a span of `out`.
#[derive(Debug, Clone, Copy)]
struct Member {
    start: u32,
    key_end: u32,
    end: u32,
    /// Number of shuffled objects when the member ended: those inside it are the last of them.
    shuffled: u32,
    /// Set by the driver to recognise the key in an error.
    mark: u32,
    /// Whether plain byte order of the escaped key is its UTF-16 order.
    plain: bool,
    /// The first eight bytes of the escaped key, the first one highest, for a quick comparison.
    prefix: u64,
}

/// An object whose span of `out` must be permuted.
#[derive(Debug)]
struct Shuffled {
    start: u32,
    end: u32,
    members: std::ops::Range<u32>,
    /// Index of the first shuffled object inside this one; they run up to this one.
    inner: u32,
}

impl Writer {
    /// A writer that expects about `capacity` bytes of text.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { out: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Whether the innermost open container is an object; `None` outside of all.
    pub(super) fn in_object(&self) -> Option<bool> {
        self.open.last().map(|open| open.is_object)
    }

    /// Appends text that is already canonical.
    #[inline]
    pub(super) fn raw(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// The text so far, for a driver that appends a number.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Appends `null`.
    pub fn null(&mut self) {
        self.raw(b"null");
    }

    /// Appends `true` or `false`.
    pub fn bool(&mut self, value: bool) {
        self.raw(if value { b"true" } else { b"false" });
    }

    /// Appends an integer.
    ///
    /// # Errors
    /// `INTEGER_OUT_OF_RANGE` beyond ±(2^53 - 1).
    pub fn integer(&mut self, value: i64) -> Result<(), Refusal> {
        if value.unsigned_abs() > MAX_SAFE_INTEGER {
            return Err(Error::IntegerOutOfRange);
        }
        number::push_integer(&mut self.out, value);
        Ok(())
    }

    /// Appends a binary64 number.
    ///
    /// # Errors
    /// `NOT_FINITE` for NaN and infinities.
    pub fn float(&mut self, value: f64) -> Result<(), Refusal> {
        if !value.is_finite() {
            return Err(Error::NotFinite);
        }
        number::push_float(&mut self.out, value);
        Ok(())
    }

    /// Appends a string, as a value or between [`Writer::begin_key`] and [`Writer::end_key`].
    pub fn string(&mut self, value: &str) {
        let bytes = value.as_bytes();
        self.out.push(b'"');
        let mut done = 0;
        loop {
            let special = find_special(bytes, done);
            self.out.extend_from_slice(&bytes[done..special]);
            let Some(&byte) = bytes.get(special) else {
                break;
            };
            self.escaped(byte);
            done = special + 1;
        }
        self.out.push(b'"');
    }

    /// Appends one character below U+0080 of a string, escaped where canonical form asks for it.
    pub(super) fn escaped(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let short = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0c => b'f',
            0x0d => b'r',
            0x00..0x20 => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                self.raw(b"\\u00");
                return self.raw(&digits);
            }
            _ => return self.out.push(byte),
        };
        self.raw(&[b'\\', short]);
    }

    /// Opens an array.
    ///
    /// # Errors
    /// `TOO_DEEP`, `TOO_LARGE`.
    pub fn begin_array(&mut self) -> Result<(), Refusal> {
        self.begin(b'[', false)
    }

    /// Opens an object.
    ///
    /// # Errors
    /// `TOO_DEEP`, `TOO_LARGE`.
    pub fn begin_object(&mut self) -> Result<(), Refusal> {
        self.begin(b'{', true)
    }

    fn begin(&mut self, bracket: u8, is_object: bool) -> Result<(), Refusal> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        self.open.push(Open {
            start: self.position()?,
            first_member: index(self.members.len())?,
            first_shuffled: index(self.shuffled.len())?,
            is_object,
            out_of_order: false,
        });
        self.out.push(bracket);
        Ok(())
    }

    /// Separates an array element from the one before it.
    #[inline]
    pub fn begin_element(&mut self) {
        // A value never ends in an opening bracket, so this byte tells whether one came before.
        if self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
    }

    /// Separates a member from the one before it; its key follows as a [`Writer::string`].
    ///
    /// # Errors
    /// `TOO_LARGE`.
    #[inline]
    pub fn begin_key(&mut self, mark: u32) -> Result<(), Refusal> {
        if self.out.last() != Some(&b'{') {
            self.end_member()?;
            self.out.push(b',');
        }
        let start = self.position()?;
        self.members.push(Member {
            start,
            key_end: start,
            end: start,
            shuffled: 0,
            mark,
            plain: true,
            prefix: 0,
        });
        Ok(())
    }

    /// Begins a member of an object whose members all come by this method, in canonical order and
    /// without duplicates. `written` is the escaped key in its quotes and the colon.
    #[inline]
    pub fn sorted_key(&mut self, written: &[u8]) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.raw(written);
    }

    /// Ends a key; its value follows.
    ///
    /// # Errors
    /// `DUPLICATE_KEY` when the key equals the one before it (others are found by
    /// [`Writer::end`]), `TOO_LARGE`.
    #[inline]
    pub fn end_key(&mut self) -> Result<(), Refusal> {
        let key_end = self.position()?;
        self.out.push(b':');
        let (Some(open), [before @ .., member]) = (self.open.last_mut(), &mut self.members[..])
        else {
            return Ok(());
        };
        member.key_end = key_end;
        let key = member.key(&self.out);
        member.plain = key.iter().fold(true, |plain, &byte| plain & is_plain(byte));
        member.prefix = prefix(key);
        if let Some(previous) = before.get(open.first_member as usize..).and_then(<[Member]>::last)
            && !open.out_of_order
        {
            match previous.compare(member, &self.out) {
                Ordering::Less => {}
                Ordering::Equal => return Err(Error::DuplicateKey),
                Ordering::Greater => open.out_of_order = true,
            }
        }
        Ok(())
    }

    fn end_member(&mut self) -> Result<(), Refusal> {
        let (end, shuffled) = (self.position()?, index(self.shuffled.len())?);
        if let Some(member) = self.members.last_mut() {
            member.end = end;
            member.shuffled = shuffled;
        }
        Ok(())
    }

    /// Closes the innermost container. The second part of an error is the mark of the second of two
    /// equal keys.
    ///
    /// # Errors
    /// `DUPLICATE_KEY`, `TOO_LARGE`.
    pub fn end(&mut self) -> Result<(), (Refusal, Option<u32>)> {
        let unmarked = |refusal| (refusal, None);
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        if !open.is_object {
            self.out.push(b']');
            return Ok(());
        }
        let first = open.first_member as usize;
        if self.members.len() > first {
            self.end_member().map_err(unmarked)?;
        }
        self.out.push(b'}');
        if open.out_of_order {
            self.sort(&open)?;
        }
        self.members.truncate(first);
        Ok(())
    }

    /// Puts the members of an object that has just been written into canonical order, or notes
    /// that they must be.
    fn sort(&mut self, open: &Open) -> Result<(), (Refusal, Option<u32>)> {
        let Self { out, members, scratch, .. } = self;
        let members = &mut members[open.first_member as usize..];
        members.sort_unstable_by(|a, b| a.compare(b, out).then(a.start.cmp(&b.start)));
        for pair in members.windows(2) {
            if let [a, b] = pair
                && a.key(out) == b.key(out)
            {
                return Err((Error::DuplicateKey, Some(b.mark)));
            }
        }
        let start = open.start as usize;
        if out.len() - start <= MAX_MOVED {
            scratch.clear();
            for member in members {
                scratch.push(b',');
                scratch.extend_from_slice(span(out, member.start, member.end));
            }
            // All but the first comma, where the bracket stands.
            out[start + 1..start + scratch.len()].copy_from_slice(&scratch[1..]);
            return Ok(());
        }
        let unmarked = |refusal| (refusal, None);
        let from = index(self.sorted.len()).map_err(unmarked)?;
        self.sorted.extend_from_slice(members);
        self.shuffled.push(Shuffled {
            start: open.start,
            end: self.position().map_err(unmarked)?,
            members: from..index(self.sorted.len()).map_err(unmarked)?,
            inner: open.first_shuffled,
        });
        Ok(())
    }

    /// The canonical text.
    ///
    /// # Errors
    /// `TOO_LARGE`.
    pub fn finish(self) -> Result<Vec<u8>, Refusal> {
        self.position()?;
        Ok(if self.shuffled.is_empty() { self.out } else { self.permuted() })
    }

    /// The text with the members of all shuffled objects in canonical order.
    fn permuted(&self) -> Vec<u8> {
        enum Step {
            /// Text that stays as it is.
            Copy(u32, u32),
            /// A span in which the shuffled objects below an index may lie.
            Span(u32, u32, u32),
            /// A shuffled object.
            Object(u32),
            Byte(u8),
        }
        let mut text = Vec::with_capacity(self.out.len());
        let whole = self.out.len() as u32;
        let mut steps = vec![Step::Span(0, whole, self.shuffled.len() as u32)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Copy(from, to) => text.extend_from_slice(span(&self.out, from, to)),
                Step::Byte(byte) => text.push(byte),
                Step::Span(from, mut to, mut below) => {
                    // Later steps are pushed first: the walk goes from the end of the span to its start.
                    while let Some(at) = below.checked_sub(1) {
                        let object = &self.shuffled[at as usize];
                        if object.start < from {
                            break;
                        }
                        steps.push(Step::Copy(object.end, to));
                        steps.push(Step::Object(at));
                        (to, below) = (object.start, object.inner);
                    }
                    text.extend_from_slice(span(&self.out, from, to));
                }
                Step::Object(at) => {
                    let object = &self.shuffled[at as usize];
                    let members =
                        &self.sorted[object.members.start as usize..object.members.end as usize];
                    text.push(b'{');
                    steps.push(Step::Byte(b'}'));
                    for (i, member) in members.iter().enumerate().rev() {
                        steps.push(Step::Span(member.start, member.end, member.shuffled));
                        if i > 0 {
                            steps.push(Step::Byte(b','));
                        }
                    }
                }
            }
        }
        text
    }

    #[inline]
    fn position(&self) -> Result<u32, Refusal> {
        index(self.out.len())
    }
}

impl Member {
    /// The escaped key without its quotes.
    #[inline]
    fn key<'a>(&self, out: &'a [u8]) -> &'a [u8] {
        span(out, self.start + 1, self.key_end - 1)
    }

    #[inline]
    fn compare(&self, other: &Self, out: &[u8]) -> Ordering {
        if self.plain && other.plain {
            let prefixes = self.prefix.cmp(&other.prefix);
            return prefixes.then_with(|| self.key(out).cmp(other.key(out)));
        }
        utf16_order(self.key(out)).cmp(utf16_order(other.key(out)))
    }
}

#[inline]
fn index(len: usize) -> Result<u32, Refusal> {
    u32::try_from(len).map_err(|_| Error::TooLarge as Refusal)
}

#[inline]
fn span(text: &[u8], from: u32, to: u32) -> &[u8] {
    &text[from as usize..to as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;

    #[test]
    fn offsets_end_at_4_gib() {
        let limit = u32::MAX as usize;
        assert_eq!(index(limit), Ok(u32::MAX));
        assert!(index(limit + 1).is_err_and(|refusal| {
            refusal(Place::Offset(0)) == Error::TooLarge(Place::Offset(0))
        }));
    }
}
