//! Keys in the order of their UTF-16 code units, compared in their escaped form.

/// The first eight bytes of a key, the first one highest. Escaped text has no zero bytes, so a key that
/// ends early sorts before its continuations.
#[inline]
pub(super) fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let bytes = key.iter().fold(0, |prefix, &byte| prefix << 8 | u64::from(byte));
            bytes.checked_shl(64 - 8 * key.len() as u32).unwrap_or(0)
        }
    }
}

/// Whether a byte of an escaped key sorts in UTF-16 as it does in UTF-8.
#[inline]
pub(super) fn is_plain(byte: u8) -> bool {
    byte != b'\\' && byte < 0xee
}

/// The characters of an escaped key as bytes whose order is the order of UTF-16 code units.
///
/// UTF-8 bytes sort by code point. UTF-16 differs in one place: the surrogates of U+10000 and above
/// (lead bytes F0 to F4) come before U+E000 to U+FFFF (lead bytes EE and EF), so those are raised.
pub(super) fn utf16_order(key: &[u8]) -> impl Iterator<Item = u8> {
    let mut bytes = key.iter().copied();
    std::iter::from_fn(move || {
        let byte = match bytes.next()? {
            b'\\' => match bytes.next()? {
                b'b' => 0x08,
                b't' => 0x09,
                b'n' => 0x0a,
                b'f' => 0x0c,
                b'r' => 0x0d,
                b'u' => {
                    let mut hex = || Some((bytes.next()? as char).to_digit(16)? as u8);
                    hex()?;
                    hex()?;
                    hex()? * 16 + hex()?
                }
                quoted => quoted,
            },
            byte => byte,
        };
        Some(if matches!(byte, 0xee | 0xef) { byte + 0x10 } else { byte })
    })
}
