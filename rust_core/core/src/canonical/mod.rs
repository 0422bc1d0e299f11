//! Canonical JSON (RFC 8785): one text per value, so that equal values have equal hashes.
//!
//! Keys are sorted by UTF-16 code units, numbers take their ECMAScript form, strings the fewest
//! escapes. What canonical JSON cannot hold without loss is refused with a typed [`crate::Error`], never
//! silently altered.
//!
//! [`Writer`] emits the canonical text while its driver walks the value once; the drivers are
//! [`canonicalize`] for JSON text and the language bindings for values in memory. Members of objects
//! that arrive out of order are permuted at the end, in one more pass over the text, so the cost stays
//! linear however objects nest. Nothing recurses: nesting costs heap, never stack.

mod number;
mod order;
mod parse;
mod scan;
mod writer;

pub use parse::canonicalize;
pub use writer::Writer;

/// Arrays and objects may nest this deep; deeper values are refused with `TOO_DEEP`.
pub const MAX_DEPTH: usize = 1_000;

/// The greatest integer that every binary64 reader holds exactly: 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Place};

    fn canonical(text: &str) -> String {
        let canonical = canonicalize(text.as_bytes()).expect(text);
        String::from_utf8(canonical).expect("canonical text is UTF-8")
    }

    #[track_caller]
    fn refused(text: &[u8], error: fn(Place) -> Error, offset: usize) {
        assert_eq!(canonicalize(text), Err(error(Place::Offset(offset))));
    }

    /// The example of RFC 8785, section 3.2.2.
    #[test]
    fn rfc_8785_example() {
        let text = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            canonical(text),
            concat!(
                r#"{"literals":[null,true,false],"#,
                r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
                r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
            )
        );
    }

    /// The example of RFC 8785, section 3.2.3.
    #[test]
    fn rfc_8785_sorting() {
        let text = r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        assert_eq!(
            canonical(text),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
    }

    /// Appendix B of RFC 8785.
    #[test]
    fn rfc_8785_numbers() {
        for (bits, text) in [
            (0x8000000000000000, "0"),
            (0x0000000000000001, "5e-324"),
            (0x8000000000000001, "-5e-324"),
            (0x7fefffffffffffff, "1.7976931348623157e+308"),
            (0x4340000000000000, "9007199254740992"),
            (0x4430000000000000, "295147905179352830000"),
            (0x44b52d02c7e14af5, "9.999999999999997e+22"),
            (0x44b52d02c7e14af6, "1e+23"),
            (0x444b1ae4d6e2ef4e, "999999999999999700000"),
            (0x444b1ae4d6e2ef50, "1e+21"),
            (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
            (0x3eb0c6f7a0b5ed8d, "0.000001"),
            (0x41b3de4355555553, "333333333.3333332"),
            (0xbecbf647612f3696, "-0.0000033333333333333333"),
            (0x43143ff3c1cb0959, "1424953923781206.2"),
        ] {
            let mut writer = Writer::default();
            assert_eq!(writer.float(f64::from_bits(bits)), Ok(()));
            assert_eq!(writer.finish(), Ok(text.as_bytes().to_vec()));
        }
    }

    #[test]
    fn short_decimals_are_their_own_form() {
        for whole in ["0", "7", "-12", "123456789"] {
            for decimals in ["5", "05", "000001", "0000001", "123456", "12345678901234", "30", "00"]
            {
                let text = format!("{whole}.{decimals}");
                let value: f64 = text.parse().expect("a number");
                assert_eq!(canonical(&text), ryu_js::Buffer::new().format_finite(value));
            }
        }
    }

    #[test]
    fn refusals_name_the_offset() {
        refused(b"[\"\xff\"]", Error::InvalidUtf8, 2);
        refused(br#"{"a":1,"b":{},"a":2}"#, Error::DuplicateKey, 14);
        refused(br#"{"b":1,"a":[{"d":1,"c":2}],"b":2}"#, Error::DuplicateKey, 27);
        refused(br#"["\ud800\u0041"]"#, Error::LoneSurrogate, 2);
        refused(b"[9007199254740992]", Error::IntegerOutOfRange, 1);
        refused(b"[1e309]", Error::NumberOutOfRange, 1);
        refused(&[b'['; MAX_DEPTH + 1], Error::TooDeep, MAX_DEPTH);
        assert_eq!(canonicalize(b"[1 2]"), Err(Error::InvalidJson(Place::Offset(3), "',' or ']'")));
    }

    #[test]
    fn every_prefix_of_a_text_is_refused() {
        let text = br#"{"b":[1.5e3,"\u00e9\ud83d\ude00\n",null],"a":{"c":true,"d":false}}"#;
        for end in 0..text.len() {
            assert!(canonicalize(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn members_out_of_order_at_every_level() {
        let levels = MAX_DEPTH - 2;
        let nested =
            r#"{"c":3,"b":"#.repeat(levels) + "{}" + &r#","a":[{"y":1,"x":2}]}"#.repeat(levels);
        let sorted =
            r#"{"a":[{"x":2,"y":1}],"b":"#.repeat(levels) + "{}" + &r#","c":3}"#.repeat(levels);
        assert_eq!(canonical(&nested), sorted);
        assert_eq!(canonical(&sorted), sorted);
    }

    #[test]
    fn keys_with_a_common_start() {
        let keys = ["", "a", "a b", "aa", "aaaaaaa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "ab"];
        let object = |keys: Vec<&str>| {
            let members: Vec<_> = keys.iter().map(|key| format!("\"{key}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        let reversed = object(keys.iter().rev().copied().collect());
        assert_eq!(canonical(&reversed), object(keys.to_vec()));
    }

    #[test]
    fn integers_at_the_limit() {
        for value in [0, -1, 9_007_199_254_740_991, -9_007_199_254_740_991] {
            let mut writer = Writer::default();
            assert_eq!(writer.integer(value), Ok(()));
            assert_eq!(writer.finish(), Ok(value.to_string().into_bytes()));
            assert_eq!(canonical(&value.to_string()), value.to_string());
        }
        for value in [9_007_199_254_740_992, i64::MIN] {
            assert!(Writer::default().integer(value).is_err());
        }
    }
}
