package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// BenchmarkLetters measures the storage of letters, in batches as in capture, each with one delta of its group.
func BenchmarkLetters(b *testing.B, s InboxStore) {
	const batch = 500
	now := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	rows := s.Inbox()
	for n := 0; n < b.N; n += batch {
		letters := make([]*deadletter.Letter, batch)
		for i := range letters {
			no := n + i
			payload := fmt.Appendf(nil, `{"order":%d,"customer":"c-%d","lines":[{"sku":"a-1","count":3}]}`, no, no%977)
			letters[i] = &deadletter.Letter{ID: s.IDs().Take(now.Time(), 1), Namespace: "default", Source: "orders",
				Origin: "orders.in", Format: "raw", Position: fmt.Sprint("0:", no), Identity: fmt.Sprintf("p%032d", no),
				Canonical: fmt.Sprintf("j%032d", no*7919%1_000_003), State: model.LetterOpen, StateAt: now,
				Group: deadletter.GroupID(1 + no%500), Handler: "bill", Occurrences: 1, Attempts: 3,
				Failure: failure.Report{Type: "ValueError", Message: fmt.Sprint("order ", no, " has no lines")},
				Stack:   "Traceback\n  File \"bill.py\", line 7, in bill\n", FirstAt: now, LastAt: now, CapturedAt: now,
				Original: deadletter.Content{Payload: payload}, Size: len(payload), Version: 1}
		}
		err := s.Write(b.Context(), func(ctx context.Context, tx engine.Tx) error {
			if _, err := rows.AddLetters(ctx, tx, letters); err != nil {
				return err
			}
			return rows.AddDeltas(ctx, tx, []deadletter.Delta{{Group: letters[0].Group, Failures: batch, At: now}})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "letters/s")
}
