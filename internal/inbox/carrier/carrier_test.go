package carrier_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

const letters = 2000

func open(t *testing.T, path string, b *memory.Broker) (*node.Node, func()) {
	t.Helper()
	c := carrier.New(driver.Registry{"memory": b.Open}, "memory")
	n, err := node.Open(t.Context(), "sqlite:"+path, node.Options{Carriers: map[string]inbox.Carrier{"memory": c}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return n, sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The broker repeats messages and loses the connection, but each becomes one letter. Rejected again after a redrive, it
// is the same letter.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	b := memory.New(nil)
	b.Declare("orders", "orders.dlq")
	feed(t, b)
	b.DeliverTwice(300)
	b.ForgetAcks(2)
	n, stop := open(t, filepath.Join(t.TempDir(), "tasker.db"), b)
	defer stop()
	in := n.Inbox()
	if _, err := in.SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory",
		Queue: "orders.dlq", MaxReplays: 5}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "every message is a letter", func() bool { return count(t, in, model.LetterOpen) == letters })
	b.Disconnect()

	made, err := in.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
		Selection: deadletter.Selection{Namespace: "default"}, Destination: "orders", Start: true,
		Plan: deadletter.Plan{Observe: deadletter.NoObservation}})
	if err == nil {
		t.Fatal("a destination outside of the allow-list was accepted")
	}
	allow(t, in)
	if made, err = in.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
		Selection: deadletter.Selection{Namespace: "default"}, Destination: "orders", Start: true,
		Plan: deadletter.Plan{Observe: deadletter.NoObservation}}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the redrive ends", func() bool {
		r, err := in.Redrive(t.Context(), made.ID)
		return err == nil && r.State == model.RedriveDone
	})
	sent := consume(t, b)
	if len(sent) != letters {
		t.Errorf("%d different letters were sent, want %d", len(sent), letters)
	}
	for id, times := range sent {
		if times != 1 {
			t.Errorf("letter %s was sent %d times", id, times)
		}
	}
	await.Until(t, "a hundred come back", func() bool { return count(t, in, model.LetterOpen) == 100 })
	if got := count(t, in, model.LetterRedriven); got != letters-100 {
		t.Errorf("%d letters are redriven, want %d", got, letters-100)
	}
}

// The answers to sends are lost, but the broker's log shows the sends, so nothing is sent twice.
func TestUnknownHasArrived(t *testing.T) {
	t.Parallel()
	b := memory.New(&memory.Options{KeepLog: true})
	b.Declare("orders", "orders.dlq")
	feed(t, b)
	n, stop := open(t, filepath.Join(t.TempDir(), "tasker.db"), b)
	defer stop()
	in := n.Inbox()
	if _, err := in.SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory",
		Queue: "orders.dlq", MaxReplays: 5, Targets: []string{"orders"}}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "every message is a letter", func() bool { return count(t, in, model.LetterOpen) == letters })
	b.LoseConfirms(700)
	if _, err := in.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
		Selection: deadletter.Selection{Namespace: "default"}, Destination: "orders", Start: true,
		Plan: deadletter.Plan{Canary: letters, Observe: deadletter.NoObservation}, Stop: deadletter.StopRule{Failed: letters},
	}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all are sent", func() bool { return count(t, in, model.LetterRedriven) == letters })
	conn, err := b.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, depth, err := conn.Stat(t.Context(), "orders"); err != nil || depth != letters {
		t.Errorf("%d messages arrived, want %d: %v", depth, letters, err)
	}
}

func feed(t *testing.T, b *memory.Broker) {
	t.Helper()
	conn, err := b.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var messages []driver.Message
	for i := range letters {
		messages = append(messages, driver.Message{Payload: fmt.Appendf(nil, `{"order":%d}`, i),
			MessageID: fmt.Sprintf("m%d", i)})
	}
	for _, err := range conn.Send(t.Context(), "orders.dlq", messages, driver.Limits{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// consume takes all messages, rejects a hundred of them, and counts deliveries per letter.
func consume(t *testing.T, b *memory.Broker) map[string]int {
	t.Helper()
	conn, err := b.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, err := conn.Open(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	sent, rejected := map[string]int{}, 0
	for {
		if _, depth, err := conn.Stat(t.Context(), "orders"); err != nil || depth == 0 {
			return sent
		}
		batch, err := r.Receive(t.Context(), 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range batch {
			for _, h := range m.Headers {
				if h.Name == deadletter.HeaderLetter {
					sent[string(h.Value)]++
				}
			}
			if rejected < 100 {
				rejected++
				if errs := conn.Send(t.Context(), "orders.dlq", []driver.Message{m}, driver.Limits{}); errs != nil {
					t.Fatal(errs)
				}
			}
		}
		if err := r.Ack(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}

func allow(t *testing.T, in *inbox.Inbox) {
	t.Helper()
	sources, err := in.Sources(t.Context(), "default")
	if err != nil || len(sources) != 1 {
		t.Fatalf("%v, %v", sources, err)
	}
	s := *sources[0].Source
	s.Targets = []string{"orders"}
	if _, err := in.SaveSource(t.Context(), &s, inbox.By{}); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, in *inbox.Inbox, state model.LetterState) int {
	t.Helper()
	n := 0
	f := inbox.LetterFilter{Selection: deadletter.Selection{Namespace: "default", State: state}, Limit: 1000}
	for {
		page, err := in.Letters(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.Letters)
		if f.Below = page.Next; page.Next.IsZero() {
			return n
		}
	}
}
