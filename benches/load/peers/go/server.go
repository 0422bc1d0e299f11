// A minimal grpc-go server that answers Score and ScoreStream under the built-in policy.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/steelyard/steelyard/benches/load/peers/go/gen/steelyard/v1"
)

var (
	categories = []string{"agentPerformance", "taskOutcomeQuality", "processCompliance"}
	weights    = []float64{0.30, 0.45, 0.25}
	bands      = []string{"failing", "weak", "acceptable", "strong", "excellent"}
	thresholds = []int{40, 60, 75, 90}
	provenance = &pb.Provenance{
		PolicyName:    "task-evaluation",
		PolicyVersion: 1,
		PolicyDigest:  fmt.Sprintf("%064d", 0),
		EngineVersion: "0.0.0",
		EngineDigest:  fmt.Sprintf("%064d", 0),
	}
)

// The explicit conversions keep the compiler from fusing multiplication and addition.
func blend(deterministic, ai int) int {
	return int(math.Floor(float64(float64(deterministic)*0.7) + float64(float64(ai)*0.3) + 0.5))
}

func overall(finals []int) int {
	sum := 0.0
	for index, final := range finals {
		sum += float64(float64(final) * weights[index])
	}
	return int(math.Floor(sum + 0.5))
}

func band(score int) int {
	index := 0
	for index < len(thresholds) && score >= thresholds[index] {
		index++
	}
	return index
}

func row(task *pb.TaskRow, index int) *pb.RowResult {
	fail := func(reason, field string) *pb.RowResult {
		path := fmt.Sprintf("rows.tasks[%d].%s", index, field)
		failed := &pb.RowError{Reason: reason, Field: path, Message: path}
		return &pb.RowResult{TaskId: task.TaskId, Result: &pb.RowResult_Error{Error: failed}}
	}
	finals := []int{-1, -1, -1}
	for position, entry := range task.Categories {
		category := -1
		for known, name := range categories {
			if entry.Category == name {
				category = known
			}
		}
		switch {
		case category < 0:
			return fail("CATEGORY_UNKNOWN", fmt.Sprintf("categories[%d]", position))
		case finals[category] >= 0:
			return fail("CATEGORY_DUPLICATE", fmt.Sprintf("categories[%d]", position))
		case entry.DeterministicScore == nil || entry.AiScore == nil:
			return fail("SCORE_MISSING", fmt.Sprintf("categories[%d]", position))
		}
		deterministic, ai := int(*entry.DeterministicScore), int(*entry.AiScore)
		if deterministic < 0 || deterministic > 100 || ai < 0 || ai > 100 {
			return fail("SCORE_OUT_OF_RANGE", fmt.Sprintf("categories[%d]", position))
		}
		finals[category] = blend(deterministic, ai)
	}
	scores := make([]*pb.CategoryScore, len(categories))
	for index, final := range finals {
		if final < 0 {
			return fail("CATEGORY_MISSING", "categories")
		}
		name := bands[band(final)]
		scores[index] = &pb.CategoryScore{
			Category: categories[index], FinalScore: uint32(final), Band: name,
		}
	}
	total := overall(finals)
	score := &pb.TaskScore{
		Categories: scores, OverallScore: uint32(total), OverallBand: bands[band(total)],
	}
	return &pb.RowResult{TaskId: task.TaskId, Result: &pb.RowResult_Score{Score: score}}
}

func rows(input *pb.TaskRows) *pb.RowResults {
	results := make([]*pb.RowResult, len(input.Tasks))
	for index, task := range input.Tasks {
		results[index] = row(task, index)
	}
	return &pb.RowResults{Results: results}
}

func columns(input *pb.TaskColumns) (*pb.ColumnResults, error) {
	cells := len(input.Deterministic)
	if cells == 0 || cells%len(categories) != 0 || len(input.Ai) != cells {
		return nil, status.Error(codes.InvalidArgument, "columns: lengths do not fit")
	}
	tasks := cells / len(categories)
	out := make([]byte, 2*cells+2*tasks)
	finals, bandOf := out[:cells], out[cells:2*cells]
	overalls, overallBands := out[2*cells:2*cells+tasks], out[2*cells+tasks:]
	for index, deterministic := range input.Deterministic {
		if deterministic > 100 || input.Ai[index] > 100 {
			return nil, status.Errorf(codes.InvalidArgument, "columns: byte %d", index)
		}
		final := blend(int(deterministic), int(input.Ai[index]))
		finals[index], bandOf[index] = byte(final), byte(band(final))
	}
	scores := make([]int, len(categories))
	for task := range tasks {
		for category := range categories {
			scores[category] = int(finals[category*tasks+task])
		}
		total := overall(scores)
		overalls[task], overallBands[task] = byte(total), byte(band(total))
	}
	return &pb.ColumnResults{
		TaskIds: input.TaskIds, FinalScores: finals, Bands: bandOf, OverallScores: overalls,
		OverallBands: overallBands, CategoryNames: categories, BandNames: bands,
	}, nil
}

type server struct {
	pb.UnimplementedSteelyardServiceServer
}

func (server) Score(_ context.Context, request *pb.ScoreRequest) (*pb.ScoreResponse, error) {
	response := &pb.ScoreResponse{Provenance: provenance}
	switch input := request.Input.(type) {
	case *pb.ScoreRequest_Rows:
		response.Output = &pb.ScoreResponse_Rows{Rows: rows(input.Rows)}
	case *pb.ScoreRequest_Columns:
		results, err := columns(input.Columns)
		if err != nil {
			return nil, err
		}
		response.Output = &pb.ScoreResponse_Columns{Columns: results}
	default:
		return nil, status.Error(codes.InvalidArgument, "input: set rows or columns")
	}
	return response, nil
}

func (server) ScoreStream(stream pb.SteelyardService_ScoreStreamServer) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		response := &pb.ScoreStreamResponse{Provenance: provenance}
		switch input := request.Input.(type) {
		case *pb.ScoreStreamRequest_Rows:
			response.Output = &pb.ScoreStreamResponse_Rows{Rows: rows(input.Rows)}
		case *pb.ScoreStreamRequest_Columns:
			results, err := columns(input.Columns)
			if err != nil {
				return err
			}
			response.Output = &pb.ScoreStreamResponse_Columns{Columns: results}
		default:
			return status.Error(codes.InvalidArgument, "input: set rows or columns")
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	peer := grpc.NewServer(grpc.MaxConcurrentStreams(100))
	pb.RegisterSteelyardServiceServer(peer, server{})
	log.Fatal(peer.Serve(listener))
}
