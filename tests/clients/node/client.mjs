// Runs the wire vectors and the transport checks against a server. See ../README.md.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import canonicalize from 'canonicalize';
import protobuf from 'protobufjs';

const MESSAGES = 100_000;
const PADDING = '.'.repeat(256); // so that what windows and buffers hold is far less than all messages
const CALLERS = 32;
const CALLS = 25;

const here = import.meta.dirname;
const protos = join(here, '..', '..', '..', 'proto');

// The JSON mapping writes a Timestamp as text; protobufjs knows that of google.protobuf.Any only.
protobuf.wrappers['.google.protobuf.Timestamp'] = {
  fromObject(text) {
    const fraction = /[.](\d+)/.exec(text)?.[1] ?? '';
    const seconds = Math.floor(Date.parse(text) / 1000);
    return this.create({ seconds, nanos: Number(fraction.padEnd(9, '0')) });
  },
  toObject({ seconds, nanos }) {
    const digits = String(nanos).padStart(9, '0').replace(/(000)+$/, '');
    const text = new Date(Number(seconds) * 1000).toISOString();
    return text.replace('.000Z', digits ? `.${digits}Z` : 'Z');
  },
};

// Where a message stands protobufjs takes objects only: a boxed text is one, and reaches the wrapper above.
const boxed = (json) =>
  JSON.parse(JSON.stringify(json), (_, value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? Object(value) : value,
  );

// Messages as their JSON mapping has them.
const mapping = { longs: String, enums: String, bytes: String, json: true };
const steelyard = loader.loadSync(
  readdirSync(join(protos, 'steelyard', 'v1')).map((name) => `steelyard/v1/${name}`),
  { ...mapping, includeDirs: [protos] },
);
const google = loader.loadSync(['google/rpc/status.proto', 'google/rpc/error_details.proto'], {
  ...mapping,
  includeDirs: [join(here, 'proto')],
});
const { SteelyardService } = grpc.loadPackageDefinition(steelyard).steelyard.v1;

const read = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
const within = (seconds) => ({ deadline: Date.now() + seconds * 1000 });
const asIs = (bytes) => bytes;

class Checks {
  constructor(server, restarted, config, vectors) {
    this.restarted = restarted;
    this.root = vectors;
    this.options = {
      'grpc.service_config': readFileSync(config, 'utf8'),
      'grpc.max_receive_message_length': -1,
    };
    this.client = connect(server, this.options);
    this.passed = this.failed = 0;
  }

  expect(name, actual, expected) {
    if (isDeepStrictEqual(actual, expected)) {
      this.passed += 1;
    } else {
      this.failed += 1;
      console.log(`FAIL ${name}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
    }
  }

  // The cases that are answered.
  vectors() {
    return this.cases((status) => status.code === 0);
  }

  // The cases that end with an error, its details decoded.
  errors() {
    return this.cases((status) => status.code !== 0);
  }

  async cases(chosen) {
    for (const name of readdirSync(join(this.root, 'wire')).sort()) {
      const file = read(this.root, 'wire', name);
      for (const one of file.cases) {
        if (chosen(one.status)) await this.testCase(`${name}/${one.name}`, file, one);
      }
    }
  }

  async testCase(name, file, one) {
    const method = methodAt(file.method);
    const normal = (document) => masked(document, file.byShape);
    const decoded = (serializer, binary) => serializer(Buffer.from(binary, 'base64'));
    let fine = true;
    const sent = one.requests.map(({ json, binary }) => {
      if (json === undefined) return Buffer.from(binary, 'base64');
      fine &&= isDeepStrictEqual(decoded(method.requestDeserialize, binary), json);
      return method.requestSerialize(boxed(json));
    });
    const expected = one.responses.map(({ json }) => normal(json));
    one.responses.forEach(({ binary }, index) => {
      const answer = normal(decoded(method.responseDeserialize, binary));
      fine &&= isDeepStrictEqual(answer, expected[index]);
    });
    if (file.offline) return this.expect(name, fine, true);
    const { answers, status } = await call(this.client, file.method, sent, file.stream);
    const actual = answers.map((bytes) => normal(method.responseDeserialize(bytes)));
    this.expect(name, { fine, actual, status }, { fine: true, actual: expected, status: one.status });
  }

  // RFC 8785 and SHA-256 by this language's own libraries.
  hashes() {
    for (const one of read(this.root, 'hashes.json').cases) {
      const canonical = canonicalize(JSON.parse(one.json));
      const sha256 = createHash('sha256').update(canonical).digest('hex');
      this.expect(one.name, { canonical, sha256 }, { canonical: one.canonical, sha256: one.sha256 });
    }
  }

  // A stream that nobody ends is ended by its deadline.
  async deadline() {
    const begin = Date.now();
    const stream = this.client.scoreStream(within(0.3));
    stream.write({ columns: columns(50) });
    const { error } = await ended(stream);
    const took = Date.now() - begin;
    this.expect('code', error?.code, grpc.status.DEADLINE_EXCEEDED);
    this.expect('in time', took > 250 && took < 5000, true);
  }

  // Without the retry policy a restart is an error, with it a pause.
  async restart() {
    const plain = connect(this.restarted, { 'grpc.enable_retries': 0 });
    const patient = connect(this.restarted, this.options);
    for (const client of [plain, patient]) {
      this.expect('before', overall(await score(client, columns(50))), 50);
    }
    console.log('restart: stop');
    const lines = createInterface({ input: process.stdin });
    await once(lines, 'line');
    lines.close();
    const code = await score(plain, columns(50)).catch((error) => error.code);
    this.expect('without retries', code, grpc.status.UNAVAILABLE);
    console.log('restart: start');
    this.expect('with retries', overall(await score(patient, columns(50))), 50);
    plain.close();
    patient.close();
  }

  // 100,000 messages; while nobody reads the answers, the sender has to wait.
  async stream() {
    const stream = this.client.scoreStream(within(120));
    let sent = 0;
    const sending = (async () => {
      for (let index = 0; index < MESSAGES; index += 1) {
        sent += 1;
        if (!stream.write({ columns: columns(index % 101, `${index}${PADDING}`) })) {
          await once(stream, 'drain');
        }
      }
      stream.end();
    })();
    let index = 0;
    let right = 0;
    for await (const answer of stream) {
      if (index === 0) {
        await sleep(1000);
        this.expect('flow control', sent < MESSAGES / 2, true);
      }
      right += answer.columns.taskIds[0] === `${index}${PADDING}` && overall(answer) === index % 101;
      index += 1;
    }
    await sending;
    this.expect('answers in order', right, MESSAGES);
  }

  // A message over the limit is refused; the connection lives on.
  async limit() {
    const large = { deterministic: Buffer.alloc(5 << 20) };
    const code = await score(this.client, large).catch((error) => error.code);
    this.expect('code', code, grpc.status.RESOURCE_EXHAUSTED);
    this.expect('after it', overall(await score(this.client, columns(50))), 50);
  }

  // 32 callers at once, each with calls of its own.
  async concurrent() {
    const caller = async (number) => {
      let right = 0;
      for (let turn = 0; turn < CALLS; turn += 1) {
        const [value, name] = [(number + turn) % 101, `${number}/${turn}`];
        const answer = await score(this.client, columns(value, name));
        right += answer.columns.taskIds[0] === name && overall(answer) === value;
      }
      return right;
    };
    const all = await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)));
    all.forEach((right, number) => this.expect(`caller ${number}`, right, CALLS));
  }
}

function connect(address, options) {
  return new SteelyardService(address, grpc.credentials.createInsecure(), options);
}

function score(client, scores) {
  return new Promise((resolve, reject) => {
    client.score({ columns: scores }, within(20), (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

// One task of the built-in policy with one value for all scores; its overall is that value.
function columns(value, taskId) {
  const scores = Buffer.alloc(3, value);
  return { deterministic: scores, ai: scores, taskIds: taskId === undefined ? [] : [taskId] };
}

function overall(answer) {
  return Buffer.from(answer.columns.overallScores, 'base64')[0];
}

function methodAt(path) {
  const service = steelyard[path.slice(1, path.lastIndexOf('/'))];
  return Object.values(service).find((method) => method.path === path);
}

// What a stream of answers brings and how it ends; it has to be read to end.
function ended(stream) {
  return new Promise((resolve) => {
    const answers = [];
    let error;
    stream.on('data', (answer) => answers.push(answer));
    stream.on('error', (told) => (error = told));
    stream.on('status', () => setImmediate(() => resolve({ answers, error })));
  });
}

// The responses and the status of a call of bytes.
async function call(client, path, sent, stream) {
  if (stream) {
    const open = client.makeBidiStreamRequest(path, asIs, asIs, within(20));
    sent.forEach((bytes) => open.write(bytes));
    open.end();
    const { answers, error } = await ended(open);
    return { answers, status: statusOf(error) };
  }
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, asIs, asIs, sent[0], within(20), (error, answer) =>
      resolve({ answers: error ? [] : [answer], status: statusOf(error) }),
    );
  });
}

// An error in the form of the vectors.
function statusOf(error) {
  if (!error) return { code: 0, name: 'OK' };
  const status = { code: error.code, name: grpc.status[error.code] };
  const [rich] = error.metadata.get('grpc-status-details-bin');
  const details = rich ? google['google.rpc.Status'].deserialize(rich).details : [];
  for (const detail of details) {
    if (detail['@type'].endsWith('/google.rpc.ErrorInfo')) {
      Object.assign(status, { reason: detail.reason, domain: detail.domain });
    } else if (detail['@type'].endsWith('/google.rpc.BadRequest')) {
      status.violations = detail.fieldViolations.map((entry) => ({
        field: entry.field ?? '',
        reason: entry.reason,
      }));
    }
  }
  return status;
}

// The document with what matches its shape replaced in every field that has one.
function masked(document, shapes) {
  for (const [path, pattern] of Object.entries(shapes)) {
    mask(document, path.split('.'), new RegExp(pattern, 'g'));
  }
  return document;
}

function mask(node, [key, ...rest], shape) {
  if (Array.isArray(node)) node.forEach((item) => mask(item, rest, shape));
  else if (node?.[key] === undefined) return;
  else if (rest.length > 0) mask(node[key], rest, shape);
  else node[key] = node[key].replace(shape, '~');
}

const [server, restarted, config, vectors, ...names] = process.argv.slice(2);
const known = ['vectors', 'errors', 'hashes', 'deadline', 'restart', 'stream', 'limit', 'concurrent'];
const checks = new Checks(server, restarted, config, vectors);
let [passed, failed] = [0, 0];
for (const name of names.length > 0 ? names : known) {
  checks.passed = checks.failed = 0;
  const begin = Date.now();
  // A check that breaks has failed; the others still run.
  await Promise.resolve(checks[name]()).catch((error) => checks.expect(name, String(error), null));
  const seconds = ((Date.now() - begin) / 1000).toFixed(1);
  console.log(`${name} passed ${checks.passed} failed ${checks.failed} seconds ${seconds}`);
  passed += checks.passed;
  failed += checks.failed;
}
console.log(`passed ${passed} failed ${failed}`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
