//! Every kernel path against the function for one task, over policies, layouts and lengths.
#![allow(missing_docs, reason = "a test crate has no users")]
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use steelyard_core::Policy;
use steelyard_core::hash::sha256_hex;
use steelyard_core::kernel::{BadScore, Kernel, Layout, Output, Path};

struct Scored {
    finals: Vec<u8>,
    bands: Vec<u8>,
    overalls: Vec<u8>,
    overall_bands: Vec<u8>,
}

fn score(
    kernel: &Kernel,
    path: Path,
    layout: Layout,
    det: &[u8],
    ai: &[u8],
) -> Result<Scored, BadScore> {
    let tasks = det.len() / kernel.policy().categories().len();
    let mut scored = Scored {
        finals: vec![0xee; det.len()],
        bands: vec![0xee; det.len()],
        overalls: vec![0xee; tasks],
        overall_bands: vec![0xee; tasks],
    };
    let mut output = Output {
        final_scores: &mut scored.finals,
        bands: &mut scored.bands,
        overall_scores: &mut scored.overalls,
        overall_bands: &mut scored.overall_bands,
    };
    kernel.score(path, layout, det, ai, &mut output)?;
    Ok(scored)
}

fn policy(arithmetic: &str, det: u32, weights: &[u32], thresholds: &[u32]) -> Policy {
    let mut text = format!(
        "name = \"p\"\nversion = 1\narithmetic = \"{arithmetic}\"\n\
         blend = {{ deterministic = {det}, ai = {} }}\n",
        10_000 - det
    );
    for (index, weight) in weights.iter().enumerate() {
        text += &format!("[[categories]]\nname = \"c{index}\"\nweight = {weight}\n");
    }
    let mut min = 0;
    for (index, next) in thresholds.iter().chain(&[101]).enumerate() {
        text += &format!("[[bands]]\nname = \"b{index}\"\nmin = {min}\nmax = {}\n", next - 1);
        min = *next;
    }
    Policy::from_toml(&text).unwrap()
}

/// A small generator, so that the test needs no clock and no crate.
fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |bound| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

fn policies() -> Vec<Policy> {
    let mut all = vec![Policy::task_evaluation()];
    for arithmetic in ["binary64", "decimal"] {
        for (det, weights) in [
            (7_000, vec![3_000, 4_500, 2_500]),
            (5_000, vec![10_000]),
            (0, vec![5_000, 5_000]),
            (10_000, vec![2_500; 4]),
            (500, vec![9_999, 1]),
            (6_180, vec![3_333, 3_334, 3_333]),
            (1_234, vec![1_000; 10]),
            (9_500, vec![3_100, 2_900, 1_700, 1_300, 1_000]),
        ] {
            all.push(policy(arithmetic, det, &weights, &[40, 60, 75, 90]));
            all.push(policy(arithmetic, det, &weights, &[]));
            all.push(policy(arithmetic, det, &weights, &[1, 2, 3, 50, 51, 98, 99, 100]));
        }
    }
    all
}

fn available() -> impl Iterator<Item = Path> {
    Path::ALL.into_iter().filter(|path| path.is_available())
}

#[test]
fn all_paths_agree_with_the_function_for_one_task() {
    let mut next = numbers(7);
    for policy in policies() {
        let kernel = Kernel::new(policy);
        let policy = kernel.policy();
        let categories = policy.categories().len();
        for tasks in [1, 2, 31, 32, 33, 63, 64, 65, 127, 1_023, 1_024, 1_025, 3_000] {
            let mut scores = |_| next(101) as u8;
            let det: Vec<u8> = (0..tasks * categories).map(&mut scores).collect();
            let ai: Vec<u8> = (0..tasks * categories).map(&mut scores).collect();
            for layout in [Layout::Columns, Layout::Rows] {
                for path in available() {
                    let scored = score(&kernel, path, layout, &det, &ai).unwrap();
                    for task in 0..tasks {
                        let index = |category| match layout {
                            Layout::Columns => category * tasks + task,
                            Layout::Rows => task * categories + category,
                        };
                        let finals: Vec<u8> = (0..categories)
                            .map(|c| policy.blend(det[index(c)], ai[index(c)]))
                            .collect();
                        for (category, score) in finals.iter().enumerate() {
                            assert_eq!(scored.finals[index(category)], *score, "{path:?}");
                            assert_eq!(
                                scored.bands[index(category)],
                                policy.band(*score),
                                "{path:?}"
                            );
                        }
                        let overall = policy.overall(&finals);
                        assert_eq!(scored.overalls[task], overall, "{path:?} {finals:?}");
                        assert_eq!(scored.overall_bands[task], policy.band(overall), "{path:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_blend_of_every_ratio_agrees_on_all_paths() {
    let (det, ai): (Vec<u8>, Vec<u8>) =
        (0..=100_u8).flat_map(|d| (0..=100_u8).map(move |a| (d, a))).unzip();
    for arithmetic in ["binary64", "decimal"] {
        for points in (0..=10_000).step_by(50).chain([1, 3_333, 6_667, 9_999]) {
            let kernel = Kernel::new(policy(arithmetic, points, &[10_000], &[40, 60, 75, 90]));
            for path in available() {
                let scored = score(&kernel, path, Layout::Columns, &det, &ai).unwrap();
                for (index, score) in scored.finals.iter().enumerate() {
                    let expected = kernel.policy().blend(det[index], ai[index]);
                    assert_eq!(*score, expected, "{path:?} {arithmetic} {points} {index}");
                }
            }
        }
    }
}

#[test]
fn every_overall_of_the_built_in_policy_has_the_recorded_digest() {
    // A final comes out as x when both of its scores are x.
    let mut columns: [Vec<u8>; 3] = Default::default();
    for perf in 0..=100 {
        for quality in 0..=100 {
            for compliance in 0..=100 {
                columns[0].push(perf);
                columns[1].push(quality);
                columns[2].push(compliance);
            }
        }
    }
    let scores = columns.concat();
    let kernel = Kernel::new(Policy::task_evaluation());
    for path in available() {
        let scored = score(&kernel, path, Layout::Columns, &scores, &scores).unwrap();
        assert_eq!(scored.finals, scores);
        assert_eq!(
            sha256_hex(&scored.overalls).as_str(),
            "025d8471c81c3b6a288923dd0f54fe151e6928459ec1c18e73b732c34585e565",
            "{path:?}"
        );
    }
}

#[test]
fn decimal_is_exact_half_up_over_the_whole_domain() {
    let kernel = Kernel::new(policy("decimal", 7_000, &[3_000, 4_500, 2_500], &[40]));
    let policy = kernel.policy();
    for det in 0..=100_u32 {
        for ai in 0..=100_u32 {
            let exact = (2 * (7 * det + 3 * ai) + 10) / 20;
            assert_eq!(u32::from(policy.blend(det as u8, ai as u8)), exact);
        }
    }
    for perf in 0..=100_u32 {
        for quality in 0..=100_u32 {
            for compliance in 0..=100_u32 {
                let exact = (2 * (6 * perf + 9 * quality + 5 * compliance) + 20) / 40;
                let finals = [perf as u8, quality as u8, compliance as u8];
                assert_eq!(u32::from(policy.overall(&finals)), exact);
            }
        }
    }
}

#[test]
fn the_first_bad_byte_is_named_deterministic_before_ai() {
    let kernel = Kernel::new(Policy::task_evaluation());
    for path in available() {
        for layout in [Layout::Columns, Layout::Rows] {
            let tasks = 2_000;
            let index = |task, category| match layout {
                Layout::Columns => category * tasks + task,
                Layout::Rows => task * 3 + category,
            };
            let mut det = vec![50; 3 * tasks];
            let mut ai = vec![50; 3 * tasks];
            ai[index(3, 0)] = 255;
            let bad = score(&kernel, path, layout, &det, &ai).err();
            assert_eq!(bad, Some(BadScore { is_ai: true, task: 3, category: 0, value: 255 }));
            det[index(1_999, 0)] = 102;
            det[index(1_998, 2)] = 101;
            let bad = score(&kernel, path, layout, &det, &ai).err();
            let first = BadScore { is_ai: false, task: 1_998, category: 2, value: 101 };
            assert_eq!(bad, Some(first), "{path:?} {layout:?}");
        }
    }
}
