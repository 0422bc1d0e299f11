//! Two messages at a time on the SHA extensions of x86-64.
//!
//! One message leaves the SHA unit idle most of the time: each step waits for the one before it. A
//! second, independent message fills the gaps. Only the joint blocks of a pair are computed here; what
//! is left of the longer message goes through the `sha2` crate.

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_loadu_si128, _mm_set_epi32, _mm_set_epi64x,
    _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi8,
    _mm_shuffle_epi32, _mm_storeu_si128,
};

use sha2::block_api::compress256;

type Block = [u8; 64];

/// Initial hash value, FIPS 180-4 section 5.3.3.
const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Round constants, FIPS 180-4 section 4.2.2.
#[rustfmt::skip]
const ROUND: [[[u32; 4]; 4]; 4] = [
    [[0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5], [0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5],
     [0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3], [0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174]],
    [[0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc], [0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da],
     [0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7], [0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967]],
    [[0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13], [0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85],
     [0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3], [0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070]],
    [[0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5], [0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3],
     [0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208], [0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2]],
];

/// AVX is asked for its three-operand forms, which leave more registers to the second message.
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("sha") && is_x86_feature_detected!("avx")
}

/// Call only where [`is_supported`].
pub(super) fn sha256_all(contexts: &[&[u8]]) -> Vec<[u8; 32]> {
    let mut digests = Vec::with_capacity(contexts.len());
    let (pairs, odd) = contexts.as_chunks::<2>();
    for &[first, second] in pairs {
        let messages = [Message::new(first), Message::new(second)];
        let joint = messages[0].blocks().min(messages[1].blocks());
        // SAFETY: the caller has checked that this processor has the features.
        let states = unsafe { compress_pair(&messages, joint) };
        for (message, mut state) in messages.iter().zip(states) {
            for at in joint..message.blocks() {
                compress256(&mut state, std::slice::from_ref(message.block(at)));
            }
            let mut digest = [0; 32];
            for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
                *bytes = word.to_be_bytes();
            }
            digests.push(digest);
        }
    }
    digests.extend(odd.iter().map(|context| super::sha256(context)));
    digests
}

/// A message and its padding (FIPS 180-4 section 5.1.1) as blocks.
struct Message<'a> {
    whole: &'a [Block],
    tail: [Block; 2],
    tail_blocks: usize,
}

impl<'a> Message<'a> {
    #[inline(always)]
    fn new(data: &'a [u8]) -> Self {
        let (whole, rest) = data.as_chunks();
        let mut tail = [[0; 64]; 2];
        let tail_blocks = if rest.len() < 56 { 1 } else { 2 };
        tail[0][..rest.len()].copy_from_slice(rest);
        tail[0][rest.len()] = 0x80;
        let bits = (data.len() as u64).wrapping_mul(8);
        tail[tail_blocks - 1][56..].copy_from_slice(&bits.to_be_bytes());
        Self { whole, tail, tail_blocks }
    }

    #[inline]
    fn blocks(&self) -> usize {
        self.whole.len() + self.tail_blocks
    }

    #[inline]
    fn block(&self, at: usize) -> &Block {
        self.whole.get(at).unwrap_or_else(|| &self.tail[at - self.whole.len()])
    }
}

/// The states of two messages after their first `blocks` blocks, which both must have.
#[target_feature(enable = "sha,avx")]
fn compress_pair(messages: &[Message<'_>; 2], blocks: usize) -> [[u32; 8]; 2] {
    // The SHA instructions want the words a, b, e, f in one register and c, d, g, h in the other.
    let [a, b, c, d, e, f, g, h] = INITIAL.map(|word| word as i32);
    let mut abef = [_mm_set_epi32(a, b, e, f); 2];
    let mut cdgh = [_mm_set_epi32(c, d, g, h); 2];
    for at in 0..blocks {
        let (abef_before, cdgh_before) = (abef, cdgh);
        let mut words = [load(messages[0].block(at)), load(messages[1].block(at))];
        for constants in &ROUND[..3] {
            sixteen_rounds::<true>(&mut abef, &mut cdgh, &mut words, constants);
        }
        sixteen_rounds::<false>(&mut abef, &mut cdgh, &mut words, &ROUND[3]);
        for lane in 0..2 {
            abef[lane] = _mm_add_epi32(abef[lane], abef_before[lane]);
            cdgh[lane] = _mm_add_epi32(cdgh[lane], cdgh_before[lane]);
        }
    }
    [0, 1].map(|lane| {
        let ([f, e, b, a], [h, g, d, c]) = (store(abef[lane]), store(cdgh[lane]));
        [a, b, c, d, e, f, g, h]
    })
}

/// Sixteen rounds of both lanes; when `EXTEND`, the words are replaced by the sixteen that follow them.
#[inline]
#[target_feature(enable = "sha,avx")]
fn sixteen_rounds<const EXTEND: bool>(
    abef: &mut [__m128i; 2],
    cdgh: &mut [__m128i; 2],
    words: &mut [[__m128i; 4]; 2],
    constants: &[[u32; 4]; 4],
) {
    for quad in 0..4 {
        let [k0, k1, k2, k3] = constants[quad].map(|word| word as i32);
        for lane in 0..2 {
            let w = &mut words[lane];
            let sum = _mm_add_epi32(w[quad], _mm_set_epi32(k3, k2, k1, k0));
            cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], sum);
            let high = _mm_shuffle_epi32(sum, 0x0e);
            abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], high);
            if EXTEND {
                let (w1, w2, w3) = (w[(quad + 1) % 4], w[(quad + 2) % 4], w[(quad + 3) % 4]);
                let older =
                    _mm_add_epi32(_mm_sha256msg1_epu32(w[quad], w1), _mm_alignr_epi8(w3, w2, 4));
                w[quad] = _mm_sha256msg2_epu32(older, w3);
            }
        }
    }
}

/// The sixteen big-endian words of a block.
#[inline]
#[target_feature(enable = "sha,avx")]
fn load(block: &Block) -> [__m128i; 4] {
    let swap = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    [0, 1, 2, 3].map(|i| {
        // SAFETY: the block has 64 bytes, of which these are 16; the load may be unaligned.
        let words = unsafe { _mm_loadu_si128(block.as_ptr().add(16 * i).cast()) };
        _mm_shuffle_epi8(words, swap)
    })
}

#[target_feature(enable = "sha,avx")]
fn store(words: __m128i) -> [u32; 4] {
    let mut stored = [0; 4];
    // SAFETY: the array has 16 bytes; the store may be unaligned.
    unsafe { _mm_storeu_si128(stored.as_mut_ptr().cast(), words) };
    stored
}
