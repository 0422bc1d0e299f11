//! As much of the protobuf wire format as the Score messages need.
//!
//! The reader accepts and refuses exactly what the official runtimes do: unknown fields and known
//! fields with a foreign wire type are skipped, scalars take the last value, groups are skipped
//! with a depth limit, strings must be UTF-8.

use crate::error::Malformed;

/// Nested messages and groups that a message may hold, as in the official runtimes.
pub const MAX_DEPTH: usize = 100;

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// A fixed-width value or a group. No Score message has such a field.
    Other,
}

/// Reads the fields of one message.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Reader<'a> {
    /// A reader of a whole message.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, depth: MAX_DEPTH }
    }

    /// A reader of a message that stands in a field of this one.
    pub fn nested(&self, bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, depth: self.depth.saturating_sub(1) }
    }

    /// The next field's number and value; None at the end.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        if number == 0 {
            return Err(Malformed::Tag);
        }
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            2 => Value::Bytes(self.length_delimited()?),
            _ => {
                self.skip(number, wire_type, self.depth)?;
                Value::Other
            }
        };
        Ok(Some((number, value)))
    }

    #[inline]
    fn tag(&mut self) -> Result<(u32, u8), Malformed> {
        let tag = self.limited_varint(u64::from(u32::MAX), Malformed::Tag)?;
        Ok(((tag >> 3) as u32, (tag & 7) as u8))
    }

    #[inline]
    fn length_delimited(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.limited_varint(i32::MAX as u64, Malformed::Truncated)? as usize;
        self.take(length)
    }

    /// A varint of at most five bytes, for tags and lengths.
    #[inline]
    fn limited_varint(&mut self, most: u64, error: Malformed) -> Result<u64, Malformed> {
        let before = self.rest.len();
        let value = self.varint()?;
        if before - self.rest.len() > 5 || value > most {
            return Err(error);
        }
        Ok(value)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Malformed> {
        let (value, rest) = read_varint(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn skip(&mut self, number: u32, wire_type: u8, depth: usize) -> Result<(), Malformed> {
        match wire_type {
            0 => self.varint().map(drop),
            1 => self.take(8).map(drop),
            2 => self.length_delimited().map(drop),
            3 => {
                let depth = depth.checked_sub(1).ok_or(Malformed::Group)?;
                loop {
                    // Inside a skipped group even field number 0 passes, as in the official runtimes.
                    let (inner, wire_type) = self.tag()?;
                    if wire_type == 4 {
                        return if inner == number { Ok(()) } else { Err(Malformed::Group) };
                    }
                    self.skip(inner, wire_type, depth)?;
                }
            }
            4 => Err(Malformed::Group),
            5 => self.take(4).map(drop),
            _ => Err(Malformed::Tag),
        }
    }
}

/// The values of a packed field.
pub fn packed(mut bytes: &[u8]) -> impl Iterator<Item = Result<u64, Malformed>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        match read_varint(bytes) {
            Ok((value, rest)) => {
                bytes = rest;
                Some(Ok(value))
            }
            Err(error) => {
                bytes = &[];
                Some(Err(error))
            }
        }
    })
}

#[inline]
fn read_varint(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    match bytes.split_first() {
        Some((first, rest)) if *first < 0x80 => Ok((u64::from(*first), rest)),
        _ => read_long_varint(bytes),
    }
}

fn read_long_varint(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        // Bits above the 64th fall off, as they do in the official runtimes.
        value |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Ok((value, &bytes[index + 1..]));
        }
    }
    Err(if bytes.len() >= 10 { Malformed::Varint } else { Malformed::Truncated })
}

/// A string field's text.
#[inline]
pub fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed::Utf8)
}

/// Bytes that [`put_varint`] writes for a value.
pub const fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Appends a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends an integer field; zero is the default and is not written.
pub fn put_uint(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        put_varint(out, u64::from(number << 3));
        put_varint(out, value);
    }
}

/// Appends a double field; zero is the default and is not written.
pub fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    if value.to_bits() != 0 {
        put_varint(out, u64::from(number << 3 | 1));
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends the tag and length of a length-delimited field.
#[inline]
pub fn put_head(out: &mut Vec<u8>, number: u32, length: usize) {
    put_varint(out, u64::from(number << 3 | 2));
    put_varint(out, length as u64);
}

/// Appends a message, or an element of a repeated field, written even when empty.
#[inline]
pub fn put_element(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_head(out, number, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a singular string or bytes field; empty is the default and is not written.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        put_element(out, number, bytes);
    }
}
