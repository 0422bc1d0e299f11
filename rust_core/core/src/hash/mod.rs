//! SHA-256 in lower-case hexadecimal, the form of every hash in a report.

#[cfg(target_arch = "x86_64")]
mod pair;

use sha2::{Digest, Sha256};

/// SHA-256 of `data`, 32 bytes.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    Sha256::digest(data).into()
}

/// SHA-256 of `data` in hexadecimal.
pub fn sha256_hex(data: &[u8]) -> Hex {
    Hex::new(&sha256(data))
}

/// SHA-256 of each context, in order.
pub fn sha256_all(contexts: &[&[u8]]) -> Vec<[u8; 32]> {
    #[cfg(target_arch = "x86_64")]
    if pair::is_supported() {
        return pair::sha256_all(contexts);
    }
    contexts.iter().map(|context| sha256(context)).collect()
}

/// A digest as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hex([u8; 64]);

impl Hex {
    /// The digits of a digest.
    pub fn new(digest: &[u8; 32]) -> Self {
        // Arithmetic instead of a table: the loop becomes vector code.
        let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
        let mut digits = [0; 64];
        for ([high, low], byte) in digits.as_chunks_mut().0.iter_mut().zip(digest) {
            (*high, *low) = (digit(byte >> 4), digit(byte & 15));
        }
        Self(digits)
    }

    /// The digits as text.
    pub fn as_str(&self) -> &str {
        // Digits are ASCII, so the fallback is never taken.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4 examples.
    #[test]
    fn published_digests() {
        for (data, digest) in [
            (&b"abc"[..], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &[b'a'; 1_000_000],
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ] {
            assert_eq!(sha256_hex(data).as_str(), digest);
            assert_eq!(sha256_all(&[data, data]), [sha256(data); 2]);
        }
    }

    #[test]
    fn many_contexts_of_every_length() {
        let data: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let contexts: Vec<&[u8]> = (0..301).map(|i| &data[i..i + i * 37 % 300]).collect();
        let single: Vec<_> = contexts.iter().map(|context| sha256(context)).collect();
        assert_eq!(sha256_all(&contexts), single);
        assert_eq!(sha256_all(&contexts[..300]), single[..300]);
        assert_eq!(sha256_all(&[]), [[0; 32]; 0]);
        assert_eq!(
            sha256_all(&[&data, b"", &data[1..]]),
            [&data, &b""[..], &data[1..]].map(sha256)
        );
    }
}
