//! The wire path: request bytes in, response bytes out, without a message object in between.

pub mod protobuf;
pub mod score;

pub use score::{Engine, Response};
