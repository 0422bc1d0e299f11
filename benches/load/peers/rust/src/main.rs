//! A minimal tonic server around steelyard-core: request bytes to the engine, response bytes back.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut};
use steelyard_core::wire::Engine;
use tokio_stream::{Stream, StreamExt};
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, StreamingService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

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

#[derive(Clone)]
struct Score(Arc<Engine>);

impl Score {
    fn answer(&self, request: &[u8]) -> Result<Vec<u8>, Status> {
        match self.0.score(request) {
            Ok(response) => Ok(response.as_bytes().to_vec()),
            Err(error) => Err(Status::invalid_argument(error.to_string())),
        }
    }
}

impl UnaryService<Vec<u8>> for Score {
    type Response = Vec<u8>;
    type Future = Ready<Result<Response<Vec<u8>>, Status>>;

    fn call(&mut self, request: Request<Vec<u8>>) -> Self::Future {
        ready(self.answer(request.get_ref()).map(Response::new))
    }
}

type Answers = Pin<Box<dyn Stream<Item = Result<Vec<u8>, Status>> + Send>>;

impl StreamingService<Vec<u8>> for Score {
    type Response = Vec<u8>;
    type ResponseStream = Answers;
    type Future = Ready<Result<Response<Answers>, Status>>;

    fn call(&mut self, request: Request<Streaming<Vec<u8>>>) -> Self::Future {
        let score = self.clone();
        let answers = request.into_inner().map(move |message| score.answer(&message?));
        ready(Ok(Response::new(Box::pin(answers))))
    }
}

impl NamedService for Score {
    const NAME: &'static str = "steelyard.v1.SteelyardService";
}

impl Service<http::Request<Body>> for Score {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let score = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(Bytes);
            Ok(match request.uri().path() {
                "/steelyard.v1.SteelyardService/Score" => grpc.unary(score, request).await,
                "/steelyard.v1.SteelyardService/ScoreStream" => {
                    grpc.streaming(score, request).await
                }
                _ => Status::unimplemented("").into_http(),
            })
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("an address, please")?.parse()?;
    let engine = Engine::new(Vec::new(), "0.0.0", &"0".repeat(64), 100_000)?;
    Server::builder()
        .max_concurrent_streams(100)
        .add_service(Score(Arc::new(engine)))
        .serve(address)
        .await?;
    Ok(())
}
