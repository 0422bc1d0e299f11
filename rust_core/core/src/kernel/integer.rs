//! The binary64 sums in 16-bit integers: the same bits, a fraction of the work.
//!
//! With the blend weights as the reduced fraction m/M and n/M, the exact blend is
//! (m * deterministic + n * ai) / M. Binary64 can differ from it only where the exact value is a
//! tie, some k + 1/2: any other value is at least 1/10,000 away from a tie, far more than the
//! rounding errors of two products and a sum. At a tie the rounding errors may drop the sum below
//! the tie, and then the result is one lower. Which ties those are has no formula, so the plan
//! finds them by computing every tie in binary64, and stores them as one byte for each
//! deterministic and each AI score: a tie rounds down exactly where the two bytes share a bit.
//! Every plan is checked against [`Policy::blend`] over the whole domain before it is used; where
//! none exists the kernel blends in binary64.
//!
//! An overall is the same kind of sum, over too many combinations for such bytes; there a tie, one
//! task in twenty under the built-in policy, is computed again in binary64.

use crate::policy::{Arithmetic, Policy, WHOLE};

/// Largest reduced weight: the byte multiply of both vector paths takes signed weights.
const MAX_WEIGHT: u32 = 127;

/// How to blend two scores in 16-bit integers.
#[derive(Debug, Clone)]
pub(super) struct BlendPlan {
    /// Reduced weight of the deterministic score.
    pub det: i8,
    /// Reduced weight of the AI score.
    pub ai: i8,
    /// Their sum, M.
    pub whole: u16,
    /// M / 2: added before the division, it rounds half up.
    pub half: u16,
    /// Division by M.
    pub divide: Divide,
    /// For each score 0..=100 the bits to compare; `None` where no tie rounds down.
    pub down: Option<Box<DownBits>>,
}

/// A tie rounds down where `det[deterministic] & ai[ai]` is not zero. Indexes above 100 are unused.
#[derive(Debug, Clone)]
pub(super) struct DownBits {
    pub det: [u8; 128],
    pub ai: [u8; 128],
}

impl BlendPlan {
    /// The plan for a policy's blend; None where the weights or the ties do not fit.
    pub fn new(policy: &Policy) -> Option<BlendPlan> {
        let (det, ai) = policy.blend_points();
        let divisor = gcd(det, ai);
        let (det, ai, whole) = (det / divisor, ai / divisor, WHOLE / divisor);
        if det > MAX_WEIGHT || ai > MAX_WEIGHT {
            return None;
        }
        let half = whole / 2;
        let divide = Divide::by(whole, 100 * whole + half)?;
        let down = match policy.arithmetic() {
            Arithmetic::Decimal => None,
            Arithmetic::Binary64 => down_bits(policy, det, ai, whole)?,
        };
        let plan = BlendPlan {
            det: i8::try_from(det).ok()?,
            ai: i8::try_from(ai).ok()?,
            whole: u16::try_from(whole).ok()?,
            half: u16::try_from(half).ok()?,
            divide,
            down,
        };
        let exact =
            (0..=100).all(|det| (0..=100).all(|ai| plan.blend(det, ai) == policy.blend(det, ai)));
        exact.then_some(plan)
    }

    /// One blend, step for step as the vector paths compute it, for what they leave over.
    pub fn blend(&self, det: u8, ai: u8) -> u8 {
        let sum = u16::from(det) * u16::from(self.det.unsigned_abs())
            + u16::from(ai) * u16::from(self.ai.unsigned_abs())
            + self.half;
        let quotient = self.divide.apply(sum);
        let down = self.down.as_ref().is_some_and(|bits| {
            quotient * self.whole == sum
                && bits.det[usize::from(det & 127)] & bits.ai[usize::from(ai & 127)] != 0
        });
        (quotient as u8).wrapping_sub(u8::from(down))
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Division of 16-bit values: the upper half of a product with `magic`, shifted right by `shift`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divide {
    pub magic: u16,
    pub shift: u16,
}

impl Divide {
    /// A multiplier and shift that are right for every value up to `most`.
    fn by(divisor: u32, most: u32) -> Option<Divide> {
        u16::try_from(most).ok()?;
        (0..16_u16).find_map(|shift| {
            let magic = (1_u64 << (16 + shift)).div_ceil(u64::from(divisor));
            let divide = Divide { magic: u16::try_from(magic).ok()?, shift };
            let exact = |value: u32| u32::from(divide.apply(value as u16)) == value / divisor;
            (0..=most).all(exact).then_some(divide)
        })
    }

    fn apply(self, value: u16) -> u16 {
        ((u32::from(value) * u32::from(self.magic)) >> 16) as u16 >> self.shift
    }
}

/// How to add up the finals of a task in 16-bit integers.
#[derive(Debug, Clone)]
pub(super) struct SumPlan {
    /// Reduced category weights.
    pub weights: Vec<u16>,
    /// Their sum, M.
    pub whole: u16,
    /// M / 2, which the sums start from.
    pub half: u16,
    /// Division by M.
    pub divide: Divide,
    /// Whether a tie must be computed again: binary64 may round it down.
    pub ties_may_fall: bool,
}

impl SumPlan {
    /// The plan for a policy's overall; None where its sums need more than 16 bits.
    pub fn new(policy: &Policy) -> Option<SumPlan> {
        let weights = policy.weights_points();
        let divisor = weights.iter().copied().fold(0, gcd);
        let whole = WHOLE / divisor;
        let half = whole / 2;
        Some(SumPlan {
            weights: weights.iter().map(|weight| (weight / divisor) as u16).collect(),
            whole: u16::try_from(whole).ok()?,
            half: u16::try_from(half).ok()?,
            divide: Divide::by(whole, 100 * whole + half)?,
            ties_may_fall: policy.arithmetic() == Arithmetic::Binary64 && whole.is_multiple_of(2),
        })
    }

    /// One block's column, added to the sums; left to the compiler to vectorise.
    #[inline(always)]
    pub fn add(&self, category: usize, finals: &[u8], sums: &mut [u16]) {
        let weight = self.weights[category];
        for (sum, value) in sums.iter_mut().zip(finals) {
            *sum = sum.wrapping_add(u16::from(*value).wrapping_mul(weight));
        }
    }

    /// One rounded sum and whether it was a tie, for what the vector paths leave over.
    pub fn finish(&self, sum: u16) -> (u8, bool) {
        let quotient = self.divide.apply(sum);
        (quotient as u8, self.ties_may_fall && quotient.wrapping_mul(self.whole) == sum)
    }
}

/// The bits of all ties that round down: `Some(None)` where there are none, `None` where eight bits
/// are not enough.
///
/// Two deterministic scores meet the same AI scores in ties only when they leave the same remainder.
/// Within a remainder each distinct set of AI scores that round down takes one bit.
fn down_bits(policy: &Policy, det: u32, ai: u32, whole: u32) -> Option<Option<Box<DownBits>>> {
    let is_down = |d: u32, a: u32| {
        let twice = 2 * (d * det + a * ai) + whole;
        let exact = twice / (2 * whole);
        twice.is_multiple_of(2 * whole) && u32::from(policy.blend(d as u8, a as u8)) < exact
    };
    let mut bits = DownBits { det: [0; 128], ai: [0; 128] };
    let mut sets: Vec<(u32, Vec<u32>)> = Vec::new();
    for d in 0..=100 {
        let set: Vec<u32> = (0..=100).filter(|a| is_down(d, *a)).collect();
        if set.is_empty() {
            continue;
        }
        let remainder = d * det % whole;
        let bit = match sets.iter().filter(|(r, _)| *r == remainder).position(|(_, s)| *s == set) {
            Some(known) => known,
            None => {
                sets.push((remainder, set.clone()));
                sets.iter().filter(|(r, _)| *r == remainder).count() - 1
            }
        };
        let mask = 1_u8.checked_shl(bit as u32)?;
        bits.det[d as usize] |= mask;
        for a in set {
            bits.ai[a as usize] |= mask;
        }
    }
    Some((!sets.is_empty()).then(|| Box::new(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_policy_has_a_plan_and_it_needs_its_bits() {
        let policy = Policy::task_evaluation();
        let mut plan = BlendPlan::new(&policy).expect("a plan");
        assert!(plan.down.is_some());
        let differing = |plan: &BlendPlan| {
            (0..=100_u8)
                .flat_map(|d| (0..=100_u8).map(move |a| (d, a)))
                .filter(|(d, a)| plan.blend(*d, *a) != policy.blend(*d, *a))
                .count()
        };
        assert_eq!(differing(&plan), 0);
        plan.down = None;
        // The number of blends in which decimal and binary64 differ.
        assert_eq!(differing(&plan), 172);
    }

    #[test]
    fn every_divisor_that_can_occur_has_a_magic_number() {
        for divisor in [2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 80, 100, 125, 200, 250, 400, 500] {
            assert!(Divide::by(divisor, 100 * divisor + divisor / 2).is_some(), "{divisor}");
        }
    }
}
