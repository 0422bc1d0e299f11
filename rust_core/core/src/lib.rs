//! The pure core of Steelyard: scoring policies, the columnar kernel, the wire path from request
//! bytes to response bytes, RFC 8785 canonical JSON and hashes. No Python, no I/O, no clock.

pub mod canonical;
pub mod error;
pub mod hash;
pub mod kernel;
pub mod policy;
pub mod stats;
pub mod wire;

pub use error::{Error, Kind, Malformed};
pub use policy::Policy;
