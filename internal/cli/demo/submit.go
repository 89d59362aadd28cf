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

// receipts is what the engine has answered for. Every ID in accepted must be settled in the end, or it counts as lost.
type receipts struct {
	accepted   map[uuid.UUID]bool
	duplicates int // rows that the engine recognised as filed before
}

// submit submits all rows, one transaction a batch. After an error it returns what was accepted before.
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
		// A duplicate has the ID of the first task, so it adds none to the accepted.
		for _, a := range answers {
			if !a.Created {
				got.duplicates++
			}
			got.accepted[a.TaskUUID] = true
		}
	}
	return got, nil
}

// request makes the task of one row. All tasks of a run share a correlation ID, by which they are found again.
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
		Name: templateName, Version: templateVersion, Namespace: namespace,
		Context: body, IdempotencyKey: key, CorrelationID: correlationID,
		Tags: []string{"demo", "birdstrikes"}, Initiator: "tasker demo", SourceSystem: "FAA Wildlife Strike Database",
		Reason: "demo run",
	}, nil
}

// idempotencyKey is the same for two rows of a run that agree in every column: a strike that was filed twice is
// reported once. Another run has other keys, so that the demo can be repeated on one database.
func idempotencyKey(row Row, correlationID string) (string, error) {
	row.Record = 0 // the place in the file is not part of the report
	body, err := json.Marshal(row)
	if err != nil {
		return "", fmt.Errorf("encode row: %w", err)
	}
	sum := sha256.Sum256(body)
	return correlationID + "/" + hex.EncodeToString(sum[:16]), nil
}
