//! The kernel on each path beside a copy of the same bytes, the wire path, canonical JSON, hashes.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing benchmark")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use steelyard_core::kernel::{Kernel, Layout, Output, Path};
use steelyard_core::wire::Engine;
use steelyard_core::wire::protobuf::{put_bytes, put_element, put_uint};
use steelyard_core::{Policy, canonical, hash};

const TASKS: usize = 1_000_000;

fn scores(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 101) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn kernel(c: &mut Criterion) {
    let kernel = Kernel::new(Policy::task_evaluation());
    let (det, ai) = (scores(1, 3 * TASKS), scores(2, 3 * TASKS));
    let (mut finals, mut bands) = (vec![0; 3 * TASKS], vec![0; 3 * TASKS]);
    let (mut overalls, mut overall_bands) = (vec![0; TASKS], vec![0; TASKS]);
    let mut group = c.benchmark_group("kernel, 1,000,000 tasks");
    group.throughput(Throughput::Elements(TASKS as u64)).sample_size(20);
    for layout in [Layout::Columns, Layout::Rows] {
        for path in Path::ALL.into_iter().filter(|path| path.is_available()) {
            group.bench_function(format!("{layout:?}/{}", path.name()), |b| {
                b.iter(|| {
                    let mut output = Output {
                        final_scores: &mut finals,
                        bands: &mut bands,
                        overall_scores: &mut overalls,
                        overall_bands: &mut overall_bands,
                    };
                    kernel
                        .score(path, layout, black_box(&det), black_box(&ai), &mut output)
                        .unwrap();
                });
            });
        }
    }
    let source = scores(3, 14 * TASKS);
    let mut target = vec![0; 14 * TASKS];
    group.bench_function("copy of 14 bytes a task", |b| {
        b.iter(|| target.copy_from_slice(black_box(&source)));
    });
    group.finish();
}

fn columns_request(tasks: usize) -> Vec<u8> {
    let mut columns = Vec::new();
    put_bytes(&mut columns, 1, &scores(1, 3 * tasks));
    put_bytes(&mut columns, 2, &scores(2, 3 * tasks));
    let mut request = Vec::new();
    put_element(&mut request, 3, &columns);
    request
}

fn rows_request(tasks: usize) -> Vec<u8> {
    let values = scores(4, 6 * tasks);
    let policy = Policy::task_evaluation();
    let mut rows = Vec::new();
    for task in 0..tasks {
        let mut row = Vec::new();
        put_bytes(&mut row, 1, format!("task-{task}").as_bytes());
        for (index, category) in policy.categories().iter().enumerate() {
            let mut entry = Vec::new();
            put_bytes(&mut entry, 1, category.name.as_bytes());
            // Zero would not be written and count as missing.
            put_uint(&mut entry, 2, u64::from(values[6 * task + index].max(1)));
            put_uint(&mut entry, 3, u64::from(values[6 * task + 3 + index].max(1)));
            put_element(&mut row, 2, &entry);
        }
        put_element(&mut rows, 1, &row);
    }
    let mut request = Vec::new();
    put_element(&mut request, 2, &rows);
    request
}

fn wire(c: &mut Criterion) {
    let engine = Engine::new(Vec::new(), "0", "0", 1_000_000).unwrap();
    let mut group = c.benchmark_group("wire");
    for tasks in [1, 100, 10_000] {
        group.throughput(Throughput::Elements(tasks as u64));
        for (form, request) in [("rows", rows_request(tasks)), ("columns", columns_request(tasks))]
        {
            group.bench_function(format!("{tasks} as {form}"), |b| {
                b.iter(|| black_box(engine.score(black_box(&request)).unwrap()));
            });
        }
    }
    group.finish();
}

fn document(entries: usize) -> String {
    let cases: Vec<String> = (0..entries)
        .map(|index| {
            format!(
                r#"{{"task": "t-{index}", "baseline": 0.{index}, "candidate": 0.8{index}, "id": "case-{index}", "critical": {}, "evidence": ["line one", "zwei: \u00e4", null]}}"#,
                index % 3 == 0
            )
        })
        .collect();
    format!("[{}]", cases.join(", "))
}

fn hashing(c: &mut Criterion) {
    let mut group = c.benchmark_group("hashing");
    for entries in [10, 70_000] {
        let text = document(entries);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("canonical JSON of {} bytes", text.len()), |b| {
            b.iter(|| canonical::canonicalize(black_box(text.as_bytes())).unwrap());
        });
        group.bench_function(format!("object hash of {} bytes", text.len()), |b| {
            b.iter_batched(
                || (),
                |()| {
                    hash::sha256_hex(&canonical::canonicalize(black_box(text.as_bytes())).unwrap())
                },
                BatchSize::PerIteration,
            );
        });
    }
    for size in [64, 1_024] {
        let contexts: Vec<Vec<u8>> = (0..16_384).map(|index| scores(index, size)).collect();
        let slices: Vec<&[u8]> = contexts.iter().map(Vec::as_slice).collect();
        group.throughput(Throughput::Bytes((size * slices.len()) as u64));
        group.bench_function(format!("16,384 contexts of {size} bytes"), |b| {
            b.iter(|| hash::sha256_all(black_box(&slices)));
        });
    }
    group.finish();
}

criterion_group!(benches, kernel, wire, hashing);
criterion_main!(benches);
