//! Nothing: the benchmarks of this crate are its content.
