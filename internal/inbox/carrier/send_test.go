package carrier_test

import (
	"context"
	"errors"
	"strings"
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

func (n *notebook) Send(_ context.Context, _ string, messages []driver.Message) []error {
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

// A broker gets the ID of a send as the inbox gives it, and each time that the send is tried again.
func TestEachSendHasAnID(t *testing.T) {
	n := &notebook{lose: 1}
	dial := func(context.Context, string) (driver.Driver, error) { return n, nil }
	c := carrier.New(driver.Registry{"note": dial}, "note")
	defer c.Close()
	for _, id := range []string{"one", "two"} {
		out := []inbox.Outgoing{{Letter: &deadletter.Letter{ID: task.ID{1}}, SendID: id}}
		if errs := c.Send(t.Context(), &deadletter.Source{}, "q", out); errs[0] != nil && !errors.Is(errs[0], inbox.ErrRepeated) {
			t.Fatal(errs[0])
		}
	}
	if got := strings.Join(n.ids, " "); got != "one one two" {
		t.Errorf("sent as %s", got)
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
		if errors.Is(errs[0], inbox.ErrRepeated) != again {
			t.Errorf("repeated %t: %v", again, errs[0])
		}
	}
	if len(n.ids) != 3 {
		t.Errorf("it was sent %d times", len(n.ids))
	}
}
