//! Calls by method name, and messages as their JSON mapping.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Buf, BufMut};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use regex_lite::{NoExpand, Regex};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::Failure;

/// One file of wire vectors.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    pub method: String,
    pub stream: bool,
    pub offline: bool,
    pub by_shape: BTreeMap<String, String>,
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub requests: Vec<Item>,
    pub responses: Vec<Item>,
    pub status: Outcome,
}

#[derive(Deserialize)]
pub struct Item {
    pub json: Option<Value>,
    #[serde(deserialize_with = "from_base64")]
    pub binary: Vec<u8>,
}

/// How a call ends.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Outcome {
    pub code: i32,
    pub reason: String,
    pub domain: String,
    pub violations: Vec<Violation>,
}

#[derive(Debug, Deserialize, PartialEq)]
pub struct Violation {
    pub field: String,
    pub reason: String,
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)
}

/// The method of a path such as "/steelyard.v1.SteelyardService/Score", if there is one.
pub fn method(path: &str) -> Result<Option<MethodDescriptor>, Failure> {
    let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
    let pool = DescriptorPool::decode(descriptors.as_ref())?;
    let (service, name) = path[1..].rsplit_once('/').ok_or("no method")?;
    let service = pool.get_service_by_name(service).ok_or("no such service")?;
    Ok(service.methods().find(|method| method.name() == name))
}

/// The JSON mapping of a message's bytes.
pub fn mapped(kind: &MessageDescriptor, data: &[u8]) -> Result<Value, Failure> {
    Ok(serde_json::to_value(DynamicMessage::decode(kind.clone(), data)?)?)
}

/// The bytes of a message from its JSON mapping.
pub fn built(kind: &MessageDescriptor, json: &Value) -> Result<Vec<u8>, Failure> {
    Ok(DynamicMessage::deserialize(kind.clone(), json)?.encode_to_vec())
}

/// The document with what matches its shape replaced in every field that has one.
pub fn masked(mut document: Value, shapes: &BTreeMap<String, String>) -> Result<Value, Failure> {
    for (path, pattern) in shapes {
        mask(&mut document, path, &Regex::new(pattern)?);
    }
    Ok(document)
}

fn mask(node: &mut Value, path: &str, shape: &Regex) {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    match (node, rest) {
        (Value::Array(items), Some(rest)) => {
            items.iter_mut().for_each(|item| mask(item, rest, shape));
        }
        (Value::Object(fields), rest) => match (fields.get_mut(key), rest) {
            (Some(field), Some(rest)) => mask(field, rest, shape),
            (Some(Value::String(text)), None) => {
                *text = shape.replace_all(text, NoExpand("~")).into_owned();
            }
            _ => {}
        },
        _ => {}
    }
}

/// A codec that leaves bytes alone.
#[derive(Clone, Copy, Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, target: &mut EncodeBuf<'_>) -> Result<(), Status> {
        target.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(source.copy_to_bytes(source.remaining()).to_vec()))
    }
}

/// The responses of a call of bytes, and how it ended.
pub async fn call(
    channel: &Channel,
    path: &str,
    mut sent: Vec<Vec<u8>>,
    stream: bool,
) -> Result<(Vec<Vec<u8>>, Outcome), Failure> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX);
    grpc.ready().await?;
    let path = path.parse()?;
    let mut answers = Vec::new();
    let end = if stream {
        let mut request = Request::new(tokio_stream::iter(sent));
        request.set_timeout(Duration::from_secs(20));
        match grpc.streaming(request, path, Bytes).await {
            Ok(response) => {
                let mut messages = response.into_inner();
                loop {
                    match messages.message().await {
                        Ok(Some(message)) => answers.push(message),
                        Ok(None) => break Ok(()),
                        Err(status) => break Err(status),
                    }
                }
            }
            Err(status) => Err(status),
        }
    } else {
        let mut request = Request::new(sent.remove(0));
        request.set_timeout(Duration::from_secs(20));
        grpc.unary(request, path, Bytes).await.map(|answer| answers.push(answer.into_inner()))
    };
    Ok((answers, end.map_or_else(|status| outcome(&status), |()| Outcome::default())))
}

/// An error in the form of the vectors, its details decoded.
fn outcome(status: &Status) -> Outcome {
    let mut outcome = Outcome { code: Code::into(status.code()), ..Outcome::default() };
    let details = status.get_error_details();
    if let Some(info) = details.error_info() {
        outcome.reason.clone_from(&info.reason);
        outcome.domain.clone_from(&info.domain);
    }
    if let Some(request) = details.bad_request() {
        for entry in &request.field_violations {
            let (field, reason) = (entry.field.clone(), entry.reason.clone());
            outcome.violations.push(Violation { field, reason });
        }
    }
    outcome
}
