//! Runs the wire vectors and the transport checks against a server. See ../README.md.

mod wire;

use std::error::Error;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

/// The stubs.
#[allow(clippy::all)] // generated
mod proto {
    tonic::include_proto!("steelyard.v1");
}

use proto::steelyard_service_client::SteelyardServiceClient;
use proto::{ScoreRequest, ScoreStreamRequest, TaskColumns, score_request, score_stream_request};
use proto::{score_response, score_stream_response};

const MESSAGES: usize = 100_000;
const CALLERS: usize = 32;
const CALLS: usize = 25;
const KNOWN: [&str; 8] =
    ["vectors", "errors", "hashes", "deadline", "restart", "stream", "limit", "concurrent"];

type Failure = Box<dyn Error + Send + Sync>;
type Client = SteelyardServiceClient<Channel>;

struct Checks {
    restarted: String,
    retries: Retries,
    root: PathBuf,
    channel: Channel,
    client: Client,
    passed: usize,
    failed: usize,
}

/// The retry policy of the service config. tonic reads none: a loop has to.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retries {
    max_attempts: u32,
    initial_backoff: String,
    max_backoff: String,
    backoff_multiplier: f64,
}

impl Retries {
    fn read(config: &str) -> Result<Retries, Failure> {
        let config: Value = serde_json::from_str(config)?;
        Ok(Retries::deserialize(&config["methodConfig"][0]["retryPolicy"])?)
    }

    async fn score(&self, client: &Client, columns: TaskColumns) -> Result<u8, Status> {
        let seconds = |text: &str| text.trim_end_matches('s').parse().unwrap_or(1.0);
        let mut pause: f64 = seconds(&self.initial_backoff);
        for _ in 1..self.max_attempts {
            match score(client, columns.clone()).await {
                Err(status) if status.code() == Code::Unavailable => {
                    sleep(Duration::from_secs_f64(pause)).await;
                    pause = (pause * self.backoff_multiplier).min(seconds(&self.max_backoff));
                }
                answered => return answered,
            }
        }
        score(client, columns).await
    }
}

fn connect(address: &str) -> Result<Channel, Failure> {
    Ok(Endpoint::from_shared(format!("http://{address}"))?.connect_lazy())
}

fn client(channel: &Channel) -> Client {
    SteelyardServiceClient::new(channel.clone()).max_decoding_message_size(64 << 20)
}

/// One task of the built-in policy with one value for all scores; its overall is that value.
fn columns(value: usize, task_ids: Vec<String>) -> TaskColumns {
    let scores = vec![value as u8; 3];
    TaskColumns { deterministic: scores.clone(), ai: scores, task_ids }
}

async fn score(client: &Client, columns: TaskColumns) -> Result<u8, Status> {
    let input = Some(score_request::Input::Columns(columns));
    let mut request = Request::new(ScoreRequest { policy: None, input });
    request.set_timeout(Duration::from_secs(20));
    match client.clone().score(request).await?.into_inner().output {
        Some(score_response::Output::Columns(columns)) => Ok(columns.overall_scores[0]),
        _ => Err(Status::internal("no columns")),
    }
}

fn message(columns: TaskColumns) -> ScoreStreamRequest {
    ScoreStreamRequest { policy: None, input: Some(score_stream_request::Input::Columns(columns)) }
}

/// So long that what windows and buffers hold is far less than all messages.
fn padded(index: usize) -> String {
    format!("{index}{}", ".".repeat(256))
}

fn code<T>(answer: Result<T, Status>) -> Code {
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

impl Checks {
    fn expect<T: Debug + PartialEq>(&mut self, name: &str, actual: T, expected: T) {
        if actual == expected {
            self.passed += 1;
        } else {
            self.failed += 1;
            println!("FAIL {name}: {actual:?} is not {expected:?}");
        }
    }

    async fn run(&mut self, name: &str) -> Result<(), Failure> {
        match name {
            "vectors" => self.cases(|code| code == 0).await,
            "errors" => self.cases(|code| code != 0).await,
            "hashes" => self.hashes(),
            "deadline" => self.deadline().await,
            "restart" => self.restart().await,
            "stream" => self.stream().await,
            "limit" => self.limit().await,
            "concurrent" => self.concurrent().await,
            _ => Err("no such check".into()),
        }
    }

    /// The cases whose status code is chosen: answered ones, or refused ones with their details.
    async fn cases(&mut self, chosen: fn(i32) -> bool) -> Result<(), Failure> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(self.root.join("wire"))? {
            paths.push(entry?.path());
        }
        paths.sort();
        for path in paths {
            let file: wire::File = serde_json::from_str(&fs::read_to_string(&path)?)?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            for case in file.cases.iter().filter(|case| chosen(case.status.code)) {
                self.case(&format!("{stem}/{}", case.name), &file, case).await?;
            }
        }
        Ok(())
    }

    async fn case(
        &mut self,
        name: &str,
        file: &wire::File,
        case: &wire::Case,
    ) -> Result<(), Failure> {
        let method = wire::method(&file.method)?;
        let known = || method.as_ref().ok_or("no such method");
        let mut fine = true;
        let mut sent = Vec::new();
        for item in &case.requests {
            sent.push(match &item.json {
                None => item.binary.clone(),
                Some(json) => {
                    fine &= wire::mapped(&known()?.input(), &item.binary)? == *json;
                    wire::built(&known()?.input(), json)?
                }
            });
        }
        let normal = |data: &[u8]| -> Result<Value, Failure> {
            wire::masked(wire::mapped(&known()?.output(), data)?, &file.by_shape)
        };
        let mut expected = Vec::new();
        for item in &case.responses {
            let json = item.json.clone().ok_or("a response without json")?;
            let json = wire::masked(json, &file.by_shape)?;
            fine &= normal(&item.binary)? == json;
            expected.push(json);
        }
        if file.offline {
            self.expect(name, fine, true);
            return Ok(());
        }
        let (answers, end) = wire::call(&self.channel, &file.method, sent, file.stream).await?;
        let mut actual = Vec::new();
        for data in answers {
            actual.push(normal(&data)?);
        }
        self.expect(name, (fine, actual, &end), (true, expected, &case.status));
        Ok(())
    }

    /// RFC 8785 and SHA-256 by this language's own libraries.
    fn hashes(&mut self) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Hash {
            name: String,
            json: String,
            canonical: String,
            sha256: String,
        }
        #[derive(Deserialize)]
        struct File {
            cases: Vec<Hash>,
        }
        let file: File = serde_json::from_str(&fs::read_to_string(self.root.join("hashes.json"))?)?;
        for case in file.cases {
            let value: Value = serde_json::from_str(&case.json)?;
            let canonical = serde_json_canonicalizer::to_string(&value)?;
            let digest = hex::encode(Sha256::digest(canonical.as_bytes()));
            self.expect(&case.name, (canonical, digest), (case.canonical, case.sha256));
        }
        Ok(())
    }

    /// A stream that nobody ends is ended by its deadline.
    async fn deadline(&mut self) -> Result<(), Failure> {
        let begin = Instant::now();
        let (sender, receiver) = mpsc::channel(1);
        sender.send(message(columns(50, vec![]))).await?;
        let mut request = Request::new(ReceiverStream::new(receiver));
        request.set_timeout(Duration::from_millis(300));
        let mut answers = self.client.score_stream(request).await?.into_inner();
        let end = loop {
            match answers.message().await {
                Ok(Some(_)) => {}
                Ok(None) => break Code::Ok,
                Err(status) => break status.code(),
            }
        };
        let took = begin.elapsed();
        drop(sender);
        self.expect("code", end, Code::DeadlineExceeded);
        let in_time = took > Duration::from_millis(250) && took < Duration::from_secs(5);
        self.expect("in time", in_time, true);
        Ok(())
    }

    /// Without the retry policy a restart is an error, with it a pause.
    async fn restart(&mut self) -> Result<(), Failure> {
        let plain = client(&connect(&self.restarted)?);
        let patient = client(&connect(&self.restarted)?);
        self.expect("before", score(&plain, columns(50, vec![])).await?, 50);
        self.expect("before", score(&patient, columns(50, vec![])).await?, 50);
        println!("restart: stop");
        BufReader::new(tokio::io::stdin()).read_line(&mut String::new()).await?;
        let away = code(score(&plain, columns(50, vec![])).await);
        self.expect("without retries", away, Code::Unavailable);
        println!("restart: start");
        let retries = self.retries.clone();
        self.expect("with retries", retries.score(&patient, columns(50, vec![])).await?, 50);
        Ok(())
    }

    /// 100,000 messages; while nobody reads the answers, the sender has to wait.
    async fn stream(&mut self) -> Result<(), Failure> {
        let sent = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::channel(1);
        let counter = Arc::clone(&sent);
        let sending = tokio::spawn(async move {
            for index in 0..MESSAGES {
                counter.fetch_add(1, Ordering::Relaxed);
                if sender.send(message(columns(index % 101, vec![padded(index)]))).await.is_err() {
                    break; // the stream has ended; the reader meets the same end
                }
            }
        });
        let mut request = Request::new(ReceiverStream::new(receiver));
        request.set_timeout(Duration::from_secs(120));
        let mut answers = self.client.score_stream(request).await?.into_inner();
        let (mut index, mut right) = (0, 0);
        while let Some(answer) = answers.message().await? {
            if index == 0 {
                sleep(Duration::from_secs(1)).await;
                self.expect("flow control", sent.load(Ordering::Relaxed) < MESSAGES / 2, true);
            }
            if let Some(score_stream_response::Output::Columns(columns)) = answer.output {
                let value = usize::from(columns.overall_scores[0]);
                right += usize::from(columns.task_ids[0] == padded(index) && value == index % 101);
            }
            index += 1;
        }
        sending.await?;
        self.expect("answers in order", right, MESSAGES);
        Ok(())
    }

    /// A message over the limit is refused; the connection lives on.
    async fn limit(&mut self) -> Result<(), Failure> {
        let large = TaskColumns { deterministic: vec![0; 5 << 20], ..TaskColumns::default() };
        let refused = code(score(&self.client, large).await);
        self.expect("code", refused, Code::ResourceExhausted);
        let after = score(&self.client, columns(50, vec![])).await?;
        self.expect("after it", after, 50);
        Ok(())
    }

    /// 32 tasks, each with calls of its own.
    async fn concurrent(&mut self) -> Result<(), Failure> {
        let mut all = JoinSet::new();
        for number in 0..CALLERS {
            let client = self.client.clone();
            all.spawn(async move {
                let mut right = 0;
                for call in 0..CALLS {
                    let value = (number + call) % 101;
                    let answer = score(&client, columns(value, vec![format!("{number}/{call}")]));
                    right += usize::from(answer.await.is_ok_and(|got| usize::from(got) == value));
                }
                right
            });
        }
        for right in all.join_all().await {
            self.expect("caller", right, CALLS);
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, restarted, config, vectors, names @ ..] = arguments.as_slice() else {
        return Err("SERVER RESTARTED SERVICE_CONFIG VECTORS [CHECK ...]".into());
    };
    let channel = connect(server)?;
    let mut checks = Checks {
        restarted: restarted.clone(),
        retries: Retries::read(&fs::read_to_string(config)?)?,
        root: Path::new(vectors).to_owned(),
        client: client(&channel),
        channel,
        passed: 0,
        failed: 0,
    };
    let all: Vec<String> = KNOWN.iter().map(ToString::to_string).collect();
    let (mut passed, mut failed) = (0, 0);
    for name in if names.is_empty() { &all } else { names } {
        (checks.passed, checks.failed) = (0, 0);
        let begin = Instant::now();
        // A check that breaks has failed; the others still run.
        if let Err(error) = checks.run(name).await {
            checks.expect(name, error.to_string(), String::new());
        }
        let seconds = begin.elapsed().as_secs_f64();
        let (good, bad) = (checks.passed, checks.failed);
        println!("{name} passed {good} failed {bad} seconds {seconds:.1}");
        (passed, failed) = (passed + good, failed + bad);
    }
    println!("passed {passed} failed {failed}");
    Ok(if failed > 0 || passed == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
