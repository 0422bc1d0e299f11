//! The vector paths of x86-64: the integer plans on 32 or 64 scores at a time.

use std::arch::x86_64::*;

use super::integer::{BlendPlan, DownBits, SumPlan};
use super::{Cells, Sums, classify};

/// Blends with AVX2. Made only by the path that has found AVX2.
pub(super) struct Avx2Cells<'a> {
    pub plan: &'a BlendPlan,
    pub thresholds: &'a [u8],
}

impl Cells for Avx2Cells<'_> {
    #[inline(always)]
    fn blend(&self, det: &[u8], ai: &[u8], finals: &mut [u8], bands: &mut [u8]) -> u8 {
        // SAFETY: this type is made only where AVX2 has been found.
        let (done, highest) =
            unsafe { blend_avx2(self.plan, self.thresholds, det, ai, finals, bands) };
        let rest = blend_rest(self.plan, &det[done..], &ai[done..], &mut finals[done..]);
        classify(self.thresholds, &finals[done..], &mut bands[done..]);
        highest.max(rest)
    }
}

/// Blends with AVX-512. Made only by the path that has found all five subsets.
pub(super) struct Avx512Cells<'a> {
    pub plan: &'a BlendPlan,
    pub band_of: &'a [u8; 128],
}

impl Cells for Avx512Cells<'_> {
    #[inline(always)]
    fn blend(&self, det: &[u8], ai: &[u8], finals: &mut [u8], bands: &mut [u8]) -> u8 {
        // SAFETY: this type is made only where the AVX-512 subsets have been found.
        let (done, highest) =
            unsafe { blend_avx512(self.plan, self.band_of, det, ai, finals, bands) };
        let rest = blend_rest(self.plan, &det[done..], &ai[done..], &mut finals[done..]);
        for (band, score) in bands[done..].iter_mut().zip(&finals[done..]) {
            *band = self.band_of[usize::from(*score & 127)];
        }
        highest.max(rest)
    }
}

fn blend_rest(plan: &BlendPlan, det: &[u8], ai: &[u8], finals: &mut [u8]) -> u8 {
    let mut highest = 0;
    for ((slot, det), ai) in finals.iter_mut().zip(det).zip(ai) {
        highest = highest.max(*det).max(*ai);
        *slot = plan.blend(*det, *ai);
    }
    highest
}

/// Sums with AVX2. Made only by the path that has found AVX2.
pub(super) struct Avx2Sums<'a> {
    pub plan: &'a SumPlan,
}

/// Sums with AVX-512. Made only by the path that has found all five subsets.
pub(super) struct Avx512Sums<'a> {
    pub plan: &'a SumPlan,
}

macro_rules! sums {
    ($name:ident, $round:ident) => {
        impl Sums for $name<'_> {
            type Sum = u16;

            #[inline(always)]
            fn start(&self) -> u16 {
                self.plan.half
            }

            #[inline(always)]
            fn add(&self, category: usize, finals: &[u8], sums: &mut [u16]) {
                self.plan.add(category, finals, sums);
            }

            #[inline(always)]
            fn finish(&self, sums: &[u16], overall: &mut [u8], recompute: impl Fn(usize) -> u8) {
                let chunks = sums.chunks_exact(TASKS).zip(overall.chunks_exact_mut(TASKS));
                for (chunk, (sums, slots)) in chunks.enumerate() {
                    // SAFETY: this type is made only where its instructions have been found.
                    let mut ties = unsafe { $round(self.plan, sums, slots) };
                    if !self.plan.ties_may_fall {
                        continue;
                    }
                    while ties != 0 {
                        let lane = ties.trailing_zeros() as usize;
                        slots[lane] = recompute(chunk * TASKS + lane);
                        ties &= ties - 1;
                    }
                }
                for task in sums.len() / TASKS * TASKS..sums.len() {
                    let (score, tie) = self.plan.finish(sums[task]);
                    overall[task] = if tie { recompute(task) } else { score };
                }
            }
        }
    };
}

sums!(Avx2Sums, round_avx2);
sums!(Avx512Sums, round_avx512);

/// Sums that are rounded at once.
const TASKS: usize = 32;

/// Rounds [`TASKS`] sums; returns the lanes that are ties, lowest bit first.
#[target_feature(enable = "avx2")]
#[inline]
fn round_avx2(plan: &SumPlan, sums: &[u16], overall: &mut [u8]) -> u32 {
    assert!(sums.len() == TASKS && overall.len() == TASKS);
    let magic = _mm256_set1_epi16(plan.divide.magic as i16);
    let whole = _mm256_set1_epi16(plan.whole as i16);
    let shift = _mm_cvtsi32_si128(i32::from(plan.divide.shift));
    // SAFETY: the slice has 64 readable bytes; the loads need no alignment.
    let (low, high) = unsafe {
        let start: *const __m256i = sums.as_ptr().cast();
        (_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1)))
    };
    let low_score = _mm256_srl_epi16(_mm256_mulhi_epu16(low, magic), shift);
    let high_score = _mm256_srl_epi16(_mm256_mulhi_epu16(high, magic), shift);
    let low_tie = _mm256_cmpeq_epi16(_mm256_mullo_epi16(low_score, whole), low);
    let high_tie = _mm256_cmpeq_epi16(_mm256_mullo_epi16(high_score, whole), high);
    // Packing works within 128-bit lanes; the permutation puts the quarters in order.
    let scores =
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(low_score, high_score));
    let ties = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low_tie, high_tie));
    // SAFETY: the slice has 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(overall.as_mut_ptr().cast(), scores) };
    _mm256_movemask_epi8(ties) as u32
}

/// As [`round_avx2`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
#[inline]
fn round_avx512(plan: &SumPlan, sums: &[u16], overall: &mut [u8]) -> u32 {
    assert!(sums.len() == TASKS && overall.len() == TASKS);
    let magic = _mm512_set1_epi16(plan.divide.magic as i16);
    let whole = _mm512_set1_epi16(plan.whole as i16);
    let shift = _mm_cvtsi32_si128(i32::from(plan.divide.shift));
    // SAFETY: the slice has 64 readable bytes; the load needs no alignment.
    let sums = unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) };
    let scores = _mm512_srl_epi16(_mm512_mulhi_epu16(sums, magic), shift);
    // SAFETY: the slice has 32 writable bytes; the store needs no alignment.
    unsafe {
        _mm256_storeu_si256(overall.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(scores));
    }
    _mm512_cmpeq_epi16_mask(_mm512_mullo_epi16(scores, whole), sums)
}

/// Blends and classifies as many scores as fit whole vectors; returns how many and the highest
/// input byte.
///
/// All four slices have the same length. Bytes above 100 give undefined scores, no undefined
/// behaviour.
#[target_feature(enable = "avx2")]
fn blend_avx2(
    plan: &BlendPlan,
    thresholds: &[u8],
    det: &[u8],
    ai: &[u8],
    finals: &mut [u8],
    bands: &mut [u8],
) -> (usize, u8) {
    const WIDTH: usize = 32;
    let weights = _mm256_set1_epi16(i16::from_le_bytes([plan.det as u8, plan.ai as u8]));
    let half = _mm256_set1_epi16(plan.half as i16);
    let magic = _mm256_set1_epi16(plan.divide.magic as i16);
    let whole = _mm256_set1_epi16(plan.whole as i16);
    let shift = _mm_cvtsi32_si128(i32::from(plan.divide.shift));
    let tables =
        plan.down.as_deref().map(|bits| (nibble_tables(&bits.det), nibble_tables(&bits.ai)));
    let zero = _mm256_setzero_si256();
    let mut highest = zero;
    let chunks = det
        .chunks_exact(WIDTH)
        .zip(ai.chunks_exact(WIDTH))
        .zip(finals.chunks_exact_mut(WIDTH).zip(bands.chunks_exact_mut(WIDTH)));
    for ((det, ai), (finals, bands)) in chunks {
        // SAFETY: `chunks_exact` gives 32 readable bytes; the loads need no alignment.
        let (det, ai) = unsafe {
            (_mm256_loadu_si256(det.as_ptr().cast()), _mm256_loadu_si256(ai.as_ptr().cast()))
        };
        highest = _mm256_max_epu8(highest, _mm256_max_epu8(det, ai));
        // Unpacking and packing both work within 128-bit lanes, so the order is restored.
        let low = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(det, ai), weights);
        let high = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(det, ai), weights);
        let (low, high) = (_mm256_add_epi16(low, half), _mm256_add_epi16(high, half));
        let low_score = _mm256_srl_epi16(_mm256_mulhi_epu16(low, magic), shift);
        let high_score = _mm256_srl_epi16(_mm256_mulhi_epu16(high, magic), shift);
        let mut score = _mm256_packus_epi16(low_score, high_score);
        if let Some((det_tables, ai_tables)) = &tables {
            let tie = _mm256_packs_epi16(
                _mm256_cmpeq_epi16(_mm256_mullo_epi16(low_score, whole), low),
                _mm256_cmpeq_epi16(_mm256_mullo_epi16(high_score, whole), high),
            );
            let shared = _mm256_and_si256(look_up(det_tables, det), look_up(ai_tables, ai));
            let down = _mm256_andnot_si256(_mm256_cmpeq_epi8(shared, zero), tie);
            // A true lane is all ones, which is -1.
            score = _mm256_add_epi8(score, down);
        }
        let mut band = zero;
        for threshold in thresholds {
            let threshold = _mm256_set1_epi8(*threshold as i8);
            let reached = _mm256_cmpeq_epi8(_mm256_max_epu8(score, threshold), score);
            band = _mm256_sub_epi8(band, reached);
        }
        // SAFETY: `chunks_exact_mut` gives 32 writable bytes; the stores need no alignment.
        unsafe {
            _mm256_storeu_si256(finals.as_mut_ptr().cast(), score);
            _mm256_storeu_si256(bands.as_mut_ptr().cast(), band);
        }
    }
    let mut bytes = [0_u8; WIDTH];
    // SAFETY: the array has 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), highest) };
    (det.len() / WIDTH * WIDTH, bytes.into_iter().max().unwrap_or(0))
}

/// A table of 112 bytes for [`look_up`]: each row of 16 is stored as its difference to the row
/// before, so that the rows up to an index's own add up to its value.
#[target_feature(enable = "avx2")]
fn nibble_tables(table: &[u8; 128]) -> [__m256i; 7] {
    std::array::from_fn(|row| {
        let bytes: [i8; 16] = std::array::from_fn(|column| {
            let index = 16 * row + column;
            let before = if row == 0 { 0 } else { table[index - 16] };
            (table[index] ^ before) as i8
        });
        // SAFETY: the array has 16 readable bytes; the load needs no alignment.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    })
}

/// The table's value for each index 0..=111.
#[target_feature(enable = "avx2")]
#[inline]
fn look_up(tables: &[__m256i; 7], index: __m256i) -> __m256i {
    let sixteen = _mm256_set1_epi8(16);
    let mut rest = index;
    let mut value = _mm256_shuffle_epi8(tables[0], rest);
    for table in &tables[1..] {
        // Below zero the top bit is set and the shuffle gives zero.
        rest = _mm256_sub_epi8(rest, sixteen);
        value = _mm256_xor_si256(value, _mm256_shuffle_epi8(*table, rest));
    }
    value
}

/// As [`blend_avx2`], 64 scores at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn blend_avx512(
    plan: &BlendPlan,
    band_of: &[u8; 128],
    det: &[u8],
    ai: &[u8],
    finals: &mut [u8],
    bands: &mut [u8],
) -> (usize, u8) {
    const WIDTH: usize = 64;
    let weights = _mm512_set1_epi16(i16::from_le_bytes([plan.det as u8, plan.ai as u8]));
    let half = _mm512_set1_epi16(plan.half as i16);
    let magic = _mm512_set1_epi16(plan.divide.magic as i16);
    let whole = _mm512_set1_epi16(plan.whole as i16);
    let shift = _mm_cvtsi32_si128(i32::from(plan.divide.shift));
    let band_of = wide_table(band_of);
    let tables = plan.down.as_deref().map(|DownBits { det, ai }| (wide_table(det), wide_table(ai)));
    let mut highest = _mm512_setzero_si512();
    let chunks = det
        .chunks_exact(WIDTH)
        .zip(ai.chunks_exact(WIDTH))
        .zip(finals.chunks_exact_mut(WIDTH).zip(bands.chunks_exact_mut(WIDTH)));
    for ((det, ai), (finals, bands)) in chunks {
        // SAFETY: `chunks_exact` gives 64 readable bytes; the loads need no alignment.
        let (det, ai) = unsafe {
            (_mm512_loadu_si512(det.as_ptr().cast()), _mm512_loadu_si512(ai.as_ptr().cast()))
        };
        highest = _mm512_max_epu8(highest, _mm512_max_epu8(det, ai));
        // Unpacking and packing both work within 128-bit lanes, so the order is restored.
        let low = _mm512_maddubs_epi16(_mm512_unpacklo_epi8(det, ai), weights);
        let high = _mm512_maddubs_epi16(_mm512_unpackhi_epi8(det, ai), weights);
        let (low, high) = (_mm512_add_epi16(low, half), _mm512_add_epi16(high, half));
        let low_score = _mm512_srl_epi16(_mm512_mulhi_epu16(low, magic), shift);
        let high_score = _mm512_srl_epi16(_mm512_mulhi_epu16(high, magic), shift);
        let mut score = _mm512_packus_epi16(low_score, high_score);
        if let Some((det_table, ai_table)) = &tables {
            // The remainder of a tie is zero.
            let low = _mm512_sub_epi16(low, _mm512_mullo_epi16(low_score, whole));
            let high = _mm512_sub_epi16(high, _mm512_mullo_epi16(high_score, whole));
            let remainder = _mm512_packus_epi16(low, high);
            let tie = _mm512_testn_epi8_mask(remainder, remainder);
            let down = _mm512_mask_test_epi8_mask(
                tie,
                _mm512_permutex2var_epi8(det_table.0, det, det_table.1),
                _mm512_permutex2var_epi8(ai_table.0, ai, ai_table.1),
            );
            score = _mm512_mask_sub_epi8(score, down, score, _mm512_set1_epi8(1));
        }
        let band = _mm512_permutex2var_epi8(band_of.0, score, band_of.1);
        // SAFETY: `chunks_exact_mut` gives 64 writable bytes; the stores need no alignment.
        unsafe {
            _mm512_storeu_si512(finals.as_mut_ptr().cast(), score);
            _mm512_storeu_si512(bands.as_mut_ptr().cast(), band);
        }
    }
    let mut bytes = [0_u8; WIDTH];
    // SAFETY: the array has 64 writable bytes; the store needs no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), highest) };
    (det.len() / WIDTH * WIDTH, bytes.into_iter().max().unwrap_or(0))
}

#[target_feature(enable = "avx512f")]
fn wide_table(table: &[u8; 128]) -> (__m512i, __m512i) {
    // SAFETY: the array has 128 readable bytes; the loads need no alignment.
    unsafe {
        (
            _mm512_loadu_si512(table.as_ptr().cast()),
            _mm512_loadu_si512(table.as_ptr().add(64).cast()),
        )
    }
}
