package carrier_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

// Records become tasks once, although acknowledgements are lost and the node changes. The lag ends at 0.
func TestIntakeOfTopic(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"PostgreSQL", "SQLite"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			r := newIntakeRig(t, "kafka", database)
			r.url += "?session=2"
			n, _, stop := r.start()
			const events = 100
			var messages []driver.Message
			for i := range events {
				messages = append(messages, driver.Message{Key: fmt.Append(nil, "pod-", i%9),
					Payload: fmt.Appendf(nil, `{"type":"pod","event_id":"e%d"}`, i)})
			}
			messages = append(messages, messages[7], driver.Message{Payload: []byte("no JSON")})
			for i, err := range r.driver.Send(t.Context(), r.queue, messages, driver.Limits{}) {
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
			}
			r.loseAcks.Store(2)
			r.source(n, deadletter.Intake{TaskType: "/type", IdempotencyKey: "/event_id"})
			count := func() string { return fmt.Sprint(len(r.tasks(n)), strings.Count(r.letters(n), "not_json")) }
			await.Text(r.t, "the tasks and letters", fmt.Sprint(events, 1), count)
			stop()
			n, _, _ = r.start()
			await.Text(r.t, "the lag", "0", func() string { return fmt.Sprint(r.depth()) })
			if got := count(); got != fmt.Sprint(events, 1) {
				t.Errorf("afterwards there are %s", got)
			}
		})
	}
}
