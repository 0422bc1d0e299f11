// Runs the wire vectors and the transport checks against a server. See ../README.md.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gowebpki/jcs"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	pb "github.com/steelyard/steelyard/tests/clients/go/gen/steelyard/v1"
)

const (
	messages = 100_000
	callers  = 32
	calls    = 25
)

// So that what windows and buffers hold is far less than all messages.
var padding = strings.Repeat(".", 256)

// One file of wire vectors.
type file struct {
	Method  string
	Stream  bool
	Offline bool
	ByShape map[string]string
	Cases   []testCase
}

type testCase struct {
	Name      string
	Requests  []item
	Responses []item
	Status    outcome
}

type item struct {
	JSON   json.RawMessage
	Binary []byte
}

// How a call ends.
type outcome struct {
	Code       int
	Reason     string
	Domain     string
	Violations []violation
}

type violation struct{ Field, Reason string }

type checks struct {
	restarted, root string
	conn            *grpc.ClientConn
	patient         grpc.DialOption
	client          pb.SteelyardServiceClient
	passed, failed  int
}

func (c *checks) expect(name string, actual, expected any) {
	if reflect.DeepEqual(actual, expected) {
		c.passed++
		return
	}
	c.failed++
	fmt.Printf("FAIL %s: %+v is not %+v\n", name, actual, expected)
}

func dial(address string, option grpc.DialOption) *grpc.ClientConn {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
		option)
	must(err)
	return conn
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func within(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

// The cases that are answered.
func (c *checks) vectors() { c.cases(func(code int) bool { return code == 0 }) }

// The cases that end with an error, its details decoded.
func (c *checks) errors() { c.cases(func(code int) bool { return code != 0 }) }

func (c *checks) cases(chosen func(code int) bool) {
	paths, err := filepath.Glob(filepath.Join(c.root, "wire", "*.json"))
	must(err)
	sort.Strings(paths)
	for _, path := range paths {
		var vectors file
		read(path, &vectors)
		for _, one := range vectors.Cases {
			if chosen(one.Status.Code) {
				c.testCase(filepath.Base(path)+"/"+one.Name, vectors, one)
			}
		}
	}
}

func read(path string, into any) {
	data, err := os.ReadFile(path)
	must(err)
	must(json.Unmarshal(data, into))
}

func (c *checks) testCase(name string, vectors file, one testCase) {
	var input, output protoreflect.MessageDescriptor
	service, method, _ := strings.Cut(vectors.Method[1:], "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	must(err)
	services := found.(protoreflect.ServiceDescriptor)
	if known := services.Methods().ByName(protoreflect.Name(method)); known != nil {
		input, output = known.Input(), known.Output()
	}
	fine := true
	var sent [][]byte
	for _, request := range one.Requests {
		data := request.Binary
		if request.JSON != nil {
			fine = fine && reflect.DeepEqual(mapped(input, data), value(request.JSON))
			message := dynamicpb.NewMessage(input)
			must(protojson.Unmarshal(request.JSON, message))
			data, err = proto.Marshal(message)
			must(err)
		}
		sent = append(sent, data)
	}
	expected := []any{}
	for _, response := range one.Responses {
		expected = append(expected, masked(value(response.JSON), vectors.ByShape))
		decoded := masked(mapped(output, response.Binary), vectors.ByShape)
		fine = fine && reflect.DeepEqual(decoded, expected[len(expected)-1])
	}
	if vectors.Offline {
		c.expect(name, fine, true)
		return
	}
	answers, end := c.call(vectors.Method, sent, vectors.Stream)
	actual := []any{}
	for _, answer := range answers {
		actual = append(actual, masked(mapped(output, answer), vectors.ByShape))
	}
	c.expect(name, []any{fine, actual, end}, []any{true, expected, one.Status})
}

// The JSON mapping of a message's bytes, as plain values.
func mapped(kind protoreflect.MessageDescriptor, data []byte) any {
	message := dynamicpb.NewMessage(kind)
	must(proto.Unmarshal(data, message))
	text, err := protojson.Marshal(message)
	must(err)
	return value(text)
}

func value(text []byte) (plain any) {
	must(json.Unmarshal(text, &plain))
	return plain
}

// The document with what matches its shape replaced in every field that has one.
func masked(document any, shapes map[string]string) any {
	for path, pattern := range shapes {
		mask(document, strings.Split(path, "."), regexp.MustCompile(pattern))
	}
	return document
}

func mask(node any, path []string, shape *regexp.Regexp) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			mask(item, path[1:], shape)
		}
	case map[string]any:
		if text, ok := node[path[0]].(string); ok && len(path) == 1 {
			node[path[0]] = shape.ReplaceAllLiteralString(text, "~")
		} else if len(path) > 1 {
			mask(node[path[0]], path[1:], shape)
		}
	}
}

// A codec that leaves bytes alone.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

// The responses and the status of a call of bytes.
func (c *checks) call(method string, sent [][]byte, stream bool) ([][]byte, outcome) {
	ctx, cancel := within(20 * time.Second)
	defer cancel()
	var answer []byte
	if !stream {
		err := c.conn.Invoke(ctx, method, sent[0], &answer, grpc.ForceCodec(bytesCodec{}))
		if err != nil {
			return nil, outcomeOf(err)
		}
		return [][]byte{answer}, outcome{}
	}
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	open, err := c.conn.NewStream(ctx, both, method, grpc.ForceCodec(bytesCodec{}))
	must(err)
	go func() {
		for _, data := range sent {
			if open.SendMsg(data) != nil {
				return // the stream has ended; RecvMsg says how
			}
		}
		open.CloseSend()
	}()
	var answers [][]byte
	for {
		if err := open.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return answers, outcome{}
		} else if err != nil {
			return answers, outcomeOf(err)
		}
		answers = append(answers, answer)
	}
}

// An error in the form of the vectors.
func outcomeOf(err error) outcome {
	told := status.Convert(err)
	end := outcome{Code: int(told.Code())}
	for _, detail := range told.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			end.Reason, end.Domain = detail.Reason, detail.Domain
		case *errdetails.BadRequest:
			for _, entry := range detail.FieldViolations {
				end.Violations = append(end.Violations, violation{entry.Field, entry.Reason})
			}
		}
	}
	return end
}

// RFC 8785 and SHA-256 by this language's own libraries.
func (c *checks) hashes() {
	var vectors struct {
		Cases []struct{ Name, JSON, Canonical, SHA256 string }
	}
	read(filepath.Join(c.root, "hashes.json"), &vectors)
	for _, one := range vectors.Cases {
		// The library takes objects and arrays only: wrap the value, unwrap its form.
		canonical, err := jcs.Transform([]byte("[" + one.JSON + "]"))
		must(err)
		canonical = canonical[1 : len(canonical)-1]
		digest := sha256.Sum256(canonical)
		c.expect(one.Name, string(canonical)+hex.EncodeToString(digest[:]), one.Canonical+one.SHA256)
	}
}

// One task of the built-in policy with one value for all scores; its overall is that value.
func columns(score int, ids ...string) *pb.TaskColumns {
	scores := []byte{byte(score), byte(score), byte(score)}
	return &pb.TaskColumns{Deterministic: scores, Ai: scores, TaskIds: ids}
}

func rpc(scores *pb.TaskColumns) *pb.ScoreRequest {
	return &pb.ScoreRequest{Input: &pb.ScoreRequest_Columns{Columns: scores}}
}

func message(scores *pb.TaskColumns) *pb.ScoreStreamRequest {
	return &pb.ScoreStreamRequest{Input: &pb.ScoreStreamRequest_Columns{Columns: scores}}
}

func overall(answer interface{ GetColumns() *pb.ColumnResults }) int {
	return int(answer.GetColumns().GetOverallScores()[0])
}

func (c *checks) score(client pb.SteelyardServiceClient, request *pb.ScoreRequest) (int, codes.Code) {
	ctx, cancel := within(20 * time.Second)
	defer cancel()
	answer, err := client.Score(ctx, request)
	if err != nil {
		return 0, status.Code(err)
	}
	return overall(answer), codes.OK
}

// A stream that nobody ends is ended by its deadline.
func (c *checks) deadline() {
	begin := time.Now()
	ctx, cancel := within(300 * time.Millisecond)
	defer cancel()
	stream, err := c.client.ScoreStream(ctx)
	must(err)
	must(stream.Send(message(columns(50))))
	for err == nil {
		_, err = stream.Recv()
	}
	took := time.Since(begin)
	c.expect("code", status.Code(err), codes.DeadlineExceeded)
	c.expect("in time", took > 250*time.Millisecond && took < 5*time.Second, true)
}

// Without the retry policy a restart is an error, with it a pause.
func (c *checks) restart() {
	plain := pb.NewSteelyardServiceClient(dial(c.restarted, grpc.WithDisableRetry()))
	patient := pb.NewSteelyardServiceClient(dial(c.restarted, c.patient))
	request := rpc(columns(50))
	for _, client := range []pb.SteelyardServiceClient{plain, patient} {
		got, _ := c.score(client, request)
		c.expect("before", got, 50)
	}
	fmt.Println("restart: stop")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	must(err)
	_, code := c.score(plain, request)
	c.expect("without retries", code, codes.Unavailable)
	fmt.Println("restart: start")
	got, _ := c.score(patient, request)
	c.expect("with retries", got, 50)
}

// 100,000 messages; while nobody reads the answers, the sender has to wait.
func (c *checks) stream() {
	ctx, cancel := within(120 * time.Second)
	defer cancel()
	stream, err := c.client.ScoreStream(ctx)
	must(err)
	var sent atomic.Int64
	go func() {
		for index := range messages {
			sent.Add(1)
			if stream.Send(message(columns(index%101, strconv.Itoa(index)+padding))) != nil {
				return // the stream has ended; Recv says how
			}
		}
		stream.CloseSend()
	}()
	right := 0
	for index := 0; ; index++ {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		must(err)
		if index == 0 {
			time.Sleep(time.Second)
			c.expect("flow control", sent.Load() < messages/2, true)
		}
		same := answer.GetColumns().TaskIds[0] == strconv.Itoa(index)+padding
		if same && overall(answer) == index%101 {
			right++
		}
	}
	c.expect("answers in order", right, messages)
}

// A message over the limit is refused; the connection lives on.
func (c *checks) limit() {
	_, code := c.score(c.client, rpc(&pb.TaskColumns{Deterministic: make([]byte, 5<<20)}))
	c.expect("code", code, codes.ResourceExhausted)
	got, _ := c.score(c.client, rpc(columns(50)))
	c.expect("after it", got, 50)
}

// 32 goroutines, each with calls of its own.
func (c *checks) concurrent() {
	var right [callers]int
	var all sync.WaitGroup
	for number := range callers {
		all.Go(func() {
			ctx, cancel := within(20 * time.Second)
			defer cancel()
			for call := range calls {
				score, name := (number+call)%101, fmt.Sprintf("%d/%d", number, call)
				answer, err := c.client.Score(ctx, rpc(columns(score, name)))
				if err == nil && answer.GetColumns().TaskIds[0] == name && overall(answer) == score {
					right[number]++
				}
			}
		})
	}
	all.Wait()
	for number := range callers {
		c.expect(fmt.Sprintf("caller %d", number), right[number], calls)
	}
}

// Runs one check; one that breaks has failed, and the others still run.
func (c *checks) run(name string, check func()) {
	defer func() {
		if failure := recover(); failure != nil {
			c.expect(name, failure, nil)
		}
	}()
	check()
}

func main() {
	server, restarted, config, vectors := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	text, err := os.ReadFile(config)
	must(err)
	patient := grpc.WithDefaultServiceConfig(string(text))
	conn := dial(server, patient)
	c := &checks{restarted: restarted, root: vectors, conn: conn, patient: patient}
	c.client = pb.NewSteelyardServiceClient(conn)
	known := []struct {
		name  string
		check func()
	}{
		{"vectors", c.vectors}, {"errors", c.errors}, {"hashes", c.hashes},
		{"deadline", c.deadline}, {"restart", c.restart}, {"stream", c.stream},
		{"limit", c.limit}, {"concurrent", c.concurrent},
	}
	passed, failed := 0, 0
	for _, one := range known {
		if wanted := os.Args[5:]; len(wanted) > 0 && !slices.Contains(wanted, one.name) {
			continue
		}
		c.passed, c.failed = 0, 0
		begin := time.Now()
		c.run(one.name, one.check)
		seconds := time.Since(begin).Seconds()
		fmt.Printf("%s passed %d failed %d seconds %.1f\n", one.name, c.passed, c.failed, seconds)
		passed, failed = passed+c.passed, failed+c.failed
	}
	fmt.Printf("passed %d failed %d\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
