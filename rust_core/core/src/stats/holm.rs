//! Several tests at once.

use super::out_of_range;
use crate::error::Error;

/// P-values adjusted by the step-down method of Holm, "A Simple Sequentially Rejective Multiple Test
/// Procedure" (1979), in the order given: rejecting those at or below alpha keeps the probability of
/// any false rejection at or below alpha, however the tests depend on each other.
///
/// # Errors
/// `PARAMETER_OUT_OF_RANGE` for a value outside of 0 to 1.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, Error> {
    if let Some(at) = p_values.iter().position(|p| !(0.0..=1.0).contains(p)) {
        let path = format!("p_values[{at}]");
        return Err(out_of_range(&path, "a number from 0 to 1", p_values[at]));
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, &at) in order.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        least = least.max((p_values[at] * remaining).min(1.0));
        adjusted[at] = least;
    }
    Ok(adjusted)
}
