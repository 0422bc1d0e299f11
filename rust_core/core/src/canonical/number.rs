//! Numbers in their ECMAScript form.

use super::MAX_SAFE_INTEGER;
use crate::error::{Error, Refusal};

/// Decimals of at most this many significant digits survive binary64 unchanged (`DBL_DIG`).
const EXACT_DIGITS: usize = 15;

pub(super) fn push_integer(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// `value` must be finite.
pub(super) fn push_float(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
}

/// Appends an integer literal: an optional minus and digits without a leading zero.
pub(super) fn push_integer_literal(out: &mut Vec<u8>, literal: &[u8]) -> Result<(), Refusal> {
    let digits = literal.strip_prefix(b"-").unwrap_or(literal);
    if digits == b"0" {
        out.push(b'0');
        return Ok(());
    }
    let safe = digits.len() <= EXACT_DIGITS
        || (digits.len() == EXACT_DIGITS + 1
            && digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'))
                <= MAX_SAFE_INTEGER);
    if !safe {
        return Err(Error::IntegerOutOfRange);
    }
    out.extend_from_slice(literal);
    Ok(())
}

/// Appends a literal with a fraction or an exponent, or both.
///
/// `fraction` is the index of the first digit after the point where there is no exponent.
pub(super) fn push_float_literal(
    out: &mut Vec<u8>,
    literal: &[u8],
    fraction: Option<usize>,
) -> Result<(), Refusal> {
    if fraction.is_some_and(|at| is_shortest(literal, at)) {
        out.extend_from_slice(literal);
        return Ok(());
    }
    let value: f64 = std::str::from_utf8(literal)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(f64::INFINITY);
    if !value.is_finite() {
        return Err(Error::NumberOutOfRange);
    }
    push_float(out, value);
    Ok(())
}

/// Whether a literal `-?digits.digits` is its own ECMAScript form, which is the case when it has at
/// most 15 significant digits (two such decimals never share a binary64 value), no trailing zero,
/// and a magnitude that is written without an exponent, at least 1e-6.
fn is_shortest(literal: &[u8], fraction: usize) -> bool {
    let negative = usize::from(literal.first() == Some(&b'-'));
    let decimals = &literal[fraction..];
    if decimals.last() == Some(&b'0') {
        return false;
    }
    let whole = fraction - 1 - negative;
    if literal.get(negative) == Some(&b'0') {
        let zeros = decimals.iter().take_while(|&&digit| digit == b'0').count();
        zeros < 6 && decimals.len() - zeros <= EXACT_DIGITS
    } else {
        whole + decimals.len() <= EXACT_DIGITS
    }
}
