//! Reads JSON text (RFC 8259, strictly) straight into a [`Writer`].

use super::number;
use super::scan::find_special;
use super::writer::Writer;
use crate::error::{Error, Place, Refusal};

/// The canonical form of a JSON text.
///
/// # Errors
/// `INVALID_JSON`, `INVALID_UTF8`, `DUPLICATE_KEY`, `LONE_SURROGATE`, `INTEGER_OUT_OF_RANGE` (an
/// integer literal beyond ±(2^53 - 1); `1e300` is a float and fine), `NUMBER_OUT_OF_RANGE`,
/// `TOO_DEEP`, `TOO_LARGE`; each with its byte offset.
///
/// Canonical text is its own canonical form, with one exception: a float literal from 2^53 up to
/// 1e21 is written as plain digits, and digits that long are refused when read back.
pub fn canonicalize(text: &[u8]) -> Result<Vec<u8>, Error> {
    if u32::try_from(text.len()).is_err() {
        return Err(Error::TooLarge(Place::Offset(u32::MAX as usize)));
    }
    if let Err(error) = std::str::from_utf8(text) {
        return Err(Error::InvalidUtf8(Place::Offset(error.valid_up_to())));
    }
    let mut parser = Parser { text, at: 0, writer: Writer::with_capacity(text.len()) };
    parser.document()?;
    let Parser { at, writer, .. } = parser;
    writer.finish().map_err(|refusal| refusal(Place::Offset(at)))
}

struct Parser<'a> {
    /// Valid UTF-8 of at most `u32::MAX` bytes.
    text: &'a [u8],
    at: usize,
    writer: Writer,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), Error> {
        'value: loop {
            let start = self.at_token();
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'{') => {
                    self.writer.begin_object().map_err(|refusal| refusal(Place::Offset(start)))?;
                    self.at += 1;
                    self.at_token();
                    if self.peek() == Some(b'}') {
                        self.close()?;
                    } else {
                        self.key()?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.writer.begin_array().map_err(|refusal| refusal(Place::Offset(start)))?;
                    self.at += 1;
                    self.at_token();
                    if self.peek() == Some(b']') {
                        self.close()?;
                    } else {
                        continue 'value;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return Err(self.expected("a value")),
            }
            // A value has ended: so may the containers around it.
            loop {
                self.at_token();
                match (self.writer.in_object(), self.peek()) {
                    (None, None) => return Ok(()),
                    (None, Some(_)) => return Err(self.expected("the end of the text")),
                    (Some(true), Some(b'}')) | (Some(false), Some(b']')) => self.close()?,
                    (Some(true), Some(b',')) => {
                        self.at += 1;
                        self.at_token();
                        self.key()?;
                        continue 'value;
                    }
                    (Some(false), Some(b',')) => {
                        self.at += 1;
                        self.writer.begin_element();
                        continue 'value;
                    }
                    (Some(true), _) => return Err(self.expected("',' or '}'")),
                    (Some(false), _) => return Err(self.expected("',' or ']'")),
                }
            }
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips white space and returns where the next token starts.
    #[inline]
    fn at_token(&mut self) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
        self.at
    }

    #[cold]
    fn expected(&self, what: &'static str) -> Error {
        Error::InvalidJson(Place::Offset(self.at), what)
    }

    fn close(&mut self) -> Result<(), Error> {
        self.writer.end().map_err(|(refusal, mark): (Refusal, _)| {
            refusal(Place::Offset(mark.map_or(self.at, |mark| mark as usize)))
        })?;
        self.at += 1;
        Ok(())
    }

    fn key(&mut self) -> Result<(), Error> {
        let start = self.at;
        let placed = |refusal: Refusal| refusal(Place::Offset(start));
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        self.writer.begin_key(start as u32).map_err(placed)?;
        self.string()?;
        self.writer.end_key().map_err(placed)?;
        self.at_token();
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), Error> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.writer.raw(word);
        self.at += word.len();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Error> {
        // Copied together with its opening quote, and its closing one when there are no escapes.
        let mut copied = self.at;
        self.at += 1;
        loop {
            self.at = find_special(self.text, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.writer.raw(&self.text[copied..self.at]);
                    return Ok(());
                }
                Some(b'\\') => {
                    self.writer.raw(&self.text[copied..self.at]);
                    self.escape()?;
                    copied = self.at;
                }
                _ => return Err(self.expected("a string character or '\"'")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Error> {
        let start = self.at;
        let character = match self.text.get(start + 1) {
            Some(&quoted @ (b'"' | b'\\' | b'/')) => quoted,
            Some(b'b') => 0x08,
            Some(b't') => 0x09,
            Some(b'n') => 0x0a,
            Some(b'f') => 0x0c,
            Some(b'r') => 0x0d,
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.expected("a valid escape")),
        };
        self.writer.escaped(character);
        self.at = start + 2;
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), Error> {
        let start = self.at;
        let unit = self.hex4(start)?;
        self.at = start + 6;
        let code = match unit {
            0xd800..0xdc00 if self.text[self.at..].starts_with(b"\\u") => {
                let low = self.hex4(self.at)?;
                if !(0xdc00..0xe000).contains(&low) {
                    return Err(Error::LoneSurrogate(Place::Offset(start)));
                }
                self.at += 6;
                0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => unit,
        };
        // Only a surrogate is a code point but no character.
        let Some(character) = char::from_u32(code) else {
            return Err(Error::LoneSurrogate(Place::Offset(start)));
        };
        match u8::try_from(code) {
            Ok(byte @ 0..0x80) => self.writer.escaped(byte),
            _ => self.writer.raw(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        Ok(())
    }

    /// The value of the escape `\uXXXX` that starts at `start`.
    fn hex4(&self, start: usize) -> Result<u32, Error> {
        self.text
            .get(start + 2..start + 6)
            .and_then(|digits| {
                digits
                    .iter()
                    .try_fold(0, |value, &digit| Some(value * 16 + (digit as char).to_digit(16)?))
            })
            .ok_or(Error::InvalidJson(Place::Offset(start), "four hexadecimal digits after \\u"))
    }

    fn number(&mut self) -> Result<(), Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let mut fraction = None;
        let mut exponent = false;
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = Some(self.at - start);
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            exponent = true;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let literal = &self.text[start..self.at];
        let out = self.writer.out();
        match (fraction, exponent) {
            (None, false) => number::push_integer_literal(out, literal),
            (_, true) => number::push_float_literal(out, literal, None),
            (fraction, false) => number::push_float_literal(out, literal, fraction),
        }
        .map_err(|refusal| refusal(Place::Offset(start)))
    }

    /// Skips one or more digits.
    #[inline]
    fn digits(&mut self) -> Result<(), Error> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }
}
