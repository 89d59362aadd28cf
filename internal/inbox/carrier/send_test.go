package carrier_test

import (
	"context"
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/task"
)

// notebook is a driver that notes the IDs of sends, and loses as many answers as it is told.
type notebook struct {
	driver.Driver
	ids  []string
	lose int
}

func (n *notebook) Send(_ context.Context, _ string, messages []driver.Message, _ driver.Limits) []error {
	for _, m := range messages {
		n.ids = append(n.ids, m.SendID)
	}
	if n.lose > 0 {
		n.lose--
		return driver.Fail(len(messages), driver.ErrRepeatable)
	}
	return nil
}

func (n *notebook) Close() error { return nil }

// A send that is tried again after a crash has the same ID. A later send of the same letter has another one, and so has
// another redrive: a broker that remembers IDs must not hold them back.
func TestEachSendHasAnID(t *testing.T) {
	n := &notebook{}
	dial := func(context.Context, string) (driver.Driver, error) { return n, nil }
	c := carrier.New(driver.Registry{"note": dial}, "note")
	defer c.Close()
	one, other, redrive := task.ID{1}, task.ID{2}, task.ID{3}
	for _, l := range []*deadletter.Letter{
		{ID: one, MessageID: "m"}, {ID: one, MessageID: "m"}, {ID: one, MessageID: "m", Replays: 1},
		{ID: other, MessageID: "m"}, {ID: one, MessageID: "m", Redrive: redrive},
	} {
		if errs := c.Send(t.Context(), &deadletter.Source{}, "q", []inbox.Outgoing{{Letter: l}}); errs[0] != nil {
			t.Fatal(errs[0])
		}
	}
	if n.ids[0] == "" || n.ids[0] != n.ids[1] {
		t.Errorf("the same send has the IDs %q and %q", n.ids[0], n.ids[1])
	}
	seen := map[string]bool{}
	for _, id := range n.ids[1:] {
		if seen[id] {
			t.Errorf("two sends have the ID %q", id)
		}
		seen[id] = true
	}
}

// A send that was confirmed only when it was repeated is reported: the broker may have forgotten the first time.
func TestRepeatedSendIsReported(t *testing.T) {
	n := &notebook{lose: 1}
	dial := func(context.Context, string) (driver.Driver, error) { return n, nil }
	c := carrier.New(driver.Registry{"note": dial}, "note")
	defer c.Close()
	for _, again := range []bool{true, false} {
		errs := c.Send(t.Context(), &deadletter.Source{}, "q", []inbox.Outgoing{{Letter: &deadletter.Letter{ID: task.ID{1}}}})
		if errors.Is(errs[0], inbox.ErrUncertain) != again {
			t.Errorf("repeated %t: %v", again, errs[0])
		}
	}
	if len(n.ids) != 3 {
		t.Errorf("it was sent %d times", len(n.ids))
	}
}
