package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// receipts records the engine's answers. Every accepted ID must settle, or it is lost.
type receipts struct {
	accepted   map[uuid.UUID]bool
	duplicates int // rows known by their idempotency key
}

// submit submits all rows, one transaction per batch. After an error it returns the accepted ones.
func submit(ctx context.Context, client *tasker.Client, correlationID string, rows []Row, batch int) (receipts, error) {
	got := receipts{accepted: make(map[uuid.UUID]bool, len(rows))}
	for part := range slices.Chunk(rows, batch) {
		req := tasker.SubmitRequest{Tasks: make([]tasker.TaskRequest, len(part))}
		for i, row := range part {
			task, err := request(row, correlationID)
			if err != nil {
				return got, err
			}
			req.Tasks[i] = task
		}
		answers, err := client.SubmitTasks(ctx, req)
		if err != nil {
			return got, fmt.Errorf("submit reports from record %d: %w", part[0].Record, err)
		}
		// A duplicate has the first task's ID and adds none.
		for _, a := range answers {
			if !a.Created {
				got.duplicates++
			}
			got.accepted[a.TaskUUID] = true
		}
	}
	return got, nil
}

// All tasks of a run share a correlation ID, which finds them again.
func request(row Row, correlationID string) (tasker.TaskRequest, error) {
	body, err := json.Marshal(row)
	if err != nil {
		return tasker.TaskRequest{}, fmt.Errorf("encode record %d: %w", row.Record, err)
	}
	key, err := idempotencyKey(row, correlationID)
	if err != nil {
		return tasker.TaskRequest{}, err
	}
	return tasker.TaskRequest{
		Name: templateName, Version: templateVersion, Namespace: namespace, Context: body, IdempotencyKey: key,
		CorrelationID: correlationID, Tags: []string{"demo", "birdstrikes"}, Initiator: "tasker demo",
		SourceSystem: "FAA Wildlife Strike Database", Reason: "demo run",
	}, nil
}

// idempotencyKey is equal for rows of a run with equal columns, so a strike filed twice is reported once. Another
// run has other keys, so the demo is repeatable on one database.
func idempotencyKey(row Row, correlationID string) (string, error) {
	row.Record = 0 // the place in the file does not count
	body, err := json.Marshal(row)
	if err != nil {
		return "", fmt.Errorf("encode row: %w", err)
	}
	sum := sha256.Sum256(body)
	return correlationID + "/" + hex.EncodeToString(sum[:16]), nil
}
