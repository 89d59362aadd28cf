package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestLetters(t *testing.T) {
	t.Parallel()
	tel := open(t, telemetry.Options{})
	l := tel.Letters()
	l.Captured("a", "dlq", "orders", "order.created", "captured", []time.Duration{time.Second, 2 * time.Second})
	l.Captured("a", "dlq", "orders", "order.created", "returned", []time.Duration{time.Minute})
	l.Sent("a", "dlq", "orders", "sent", 3)
	l.Sent("a", "dlq", "orders", "failed", 1)
	l.Discarded("a", "dlq", "orders", "max_age", 2)
	l.Replayed("a", "dlq", "letter", 5)
	l.ReplayEntered("a", "dlq", "running")
	l.Took("capture", time.Millisecond)
	l.Failed("send", task.Unavailable)
	scrape(t, tel).want(t, map[string]string{
		`tasker_dead_letters_received_total{event_type="order.created",namespace="a",origin="orders",outcome="captured",` +
			`source="dlq"}`: "2",
		`tasker_dead_letters_received_total{event_type="order.created",namespace="a",origin="orders",outcome="returned",` +
			`source="dlq"}`: "1",
		`tasker_dead_letters_sent_total{namespace="a",origin="orders",result="sent",source="dlq"}`:         "3",
		`tasker_dead_letters_sent_total{namespace="a",origin="orders",result="failed",source="dlq"}`:       "1",
		`tasker_dead_letters_discarded_total{namespace="a",origin="orders",reason="max_age",source="dlq"}`: "2",
		`tasker_dead_letters_age_seconds_sum{namespace="a",origin="orders",source="dlq"}`:                  "63",
		`tasker_replay_messages_total{namespace="a",result="letter",source="dlq"}`:                         "5",
		`tasker_replay_states_total{namespace="a",source="dlq",state="running"}`:                           "1",
		`tasker_dead_letters_processing_seconds_count{operation="capture"}`:                                "1",
		`tasker_dead_letters_errors_total{code="unavailable",operation="send"}`:                            "1",
	})
}

// TestUndecided: an origin without undecided letters shows 0 and does not disappear. Without an answer of the store
// there is no number.
func TestUndecided(t *testing.T) {
	t.Parallel()
	tel := open(t, telemetry.Options{})
	show := func(err error, levels ...telemetry.OriginLevel) metrics {
		tel.Letters().WatchOrigins(func(context.Context) ([]telemetry.OriginLevel, error) {
			return append([]telemetry.OriginLevel{}, levels...), err
		})
		return scrape(t, tel)
	}
	const orders = `tasker_dead_letters_undecided{namespace="a",origin="orders"}`
	show(nil, telemetry.OriginLevel{Namespace: "a", Origin: "orders", Letters: 7}).
		want(t, map[string]string{orders: "7"})
	show(nil).want(t, map[string]string{orders: "0"})
	show(task.Errorf(task.Unavailable, "away")).want(t, map[string]string{orders: ""})
}

// TestManyOrigins: thousands of claimed origins and event types have a bounded number of series.
func TestManyOrigins(t *testing.T) {
	t.Parallel()
	tel := open(t, telemetry.Options{})
	for i := range 3000 {
		origin := fmt.Sprintf("orders-%d", i)
		tel.Letters().Captured("a", "dlq", origin, origin, "captured", []time.Duration{0})
	}
	n, total := 0, false
	for _, line := range scrape(t, tel) {
		if strings.HasPrefix(line, "tasker_dead_letters_received_total{") {
			n++
			total = total || strings.Contains(line, `origin="other"`) && strings.HasSuffix(line, " 2800")
		}
	}
	if n != 201 || !total {
		t.Errorf("%d series; the rest counts as other: %t", n, total)
	}
}
