package carrier_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func onEveryKind(t *testing.T, script func(t *testing.T, r *intakeRig)) {
	t.Helper()
	for i, kind := range []string{"redis-list", "redis-stream", "memory", "rabbitmq", "kafka"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			script(t, newIntakeRig(t, kind, []string{"SQLite", "PostgreSQL"}[i%2]))
		})
	}
}

func (r *intakeRig) inboxOf(n *node.Node) *inbox.Inbox {
	r.t.Helper()
	in := n.Inbox()
	if _, err := in.SaveSource(r.t.Context(), &deadletter.Source{Namespace: "default", Name: "jobs", Driver: r.kind,
		URL: r.url, Queue: r.queue, Targets: []string{"*"}}, inbox.By{}); err != nil {
		r.t.Fatal(err)
	}
	return in
}

func (r *intakeRig) target() string {
	r.t.Helper()
	switch {
	case r.kind == "kafka":
		return kafkatest.NewTopic(r.t, r.url, 1)
	case r.declare != nil:
		r.declare("back")
		return "back"
	case r.kind == "redis-stream":
		name := "back:" + rand.Text()
		url := strings.Split(r.url, "?")[0]
		if _, err := redistest.Do(url, "XGROUP", "CREATE", name, "tasker", "0", "MKSTREAM"); err != nil {
			r.t.Fatal(err)
		}
		return name
	}
	return "back:" + rand.Text()
}

func (r *intakeRig) sizes(in *inbox.Inbox) string {
	r.t.Helper()
	page, err := in.Letters(r.t.Context(), inbox.LetterFilter{Limit: 1000,
		Selection: deadletter.Selection{Namespace: "default", State: model.LetterOpen}})
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := in.Source(r.t.Context(), "default", "jobs")
	if err != nil {
		r.t.Fatal(err)
	}
	sizes := map[int]int{}
	for _, l := range page.Letters {
		sizes[l.Size]++
		if l.Cut {
			r.t.Errorf("a letter of %d bytes is cut", l.Size)
		}
	}
	of := s.Oversized
	// Messages of Kafka also have headers.
	return fmt.Sprintf("%v %s %d %d KiB %t %t", sizes, s.State, of.Messages, of.Largest>>10, of.First != "", of.Since != 0)
}

// A too large message stays on its broker, also when its node ends, and those behind it are captured. It is captured
// once the bound is raised.
func TestTooLargeStays(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, r *intakeRig) {
		r.config.Limits.LetterBytes = 64 << 10
		n, _, stop := r.start()
		in := r.inboxOf(n)
		small, large := strings.Repeat("s", 100), strings.Repeat("x", 100<<10)
		r.put(small, large, small, small)
		for range 2 {
			await.Text(r.t, "the others are letters", "map[100:3] reading 1 100 KiB true true",
				func() string { return r.sizes(in) })
			stop()
			n, _, stop = r.start()
			in = n.Inbox()
		}
		r.put(strings.Repeat("b", 200))
		await.Text(r.t, "what is behind is a letter", "map[100:3 200:1] reading 1 100 KiB true true",
			func() string { return r.sizes(in) })
		stop()
		r.config.Limits.LetterBytes = 1 << 20
		n, _, _ = r.start()
		await.Text(r.t, "the bound is raised", "map[100:3 200:1 102400:1] reading 0 0 KiB false false",
			func() string { return r.sizes(n.Inbox()) })
	})
}

func TestLargeThereAndBack(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, r *intakeRig) {
		n, _, _ := r.start()
		in := r.inboxOf(n)
		messages := []driver.Message{{Payload: make([]byte, 300<<10)}, {Payload: make([]byte, 10<<20)}}
		for i := range messages {
			_, _ = rand.Read(messages[i].Payload)
			if r.kind == "rabbitmq" {
				messages[i].MessageID = rand.Text()
			}
			for _, err := range r.driver.Send(t.Context(), r.queue, messages[i:i+1], driver.Limits{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		await.Text(r.t, "the letters", "map[307200:1 10485760:1] reading 0 0 KiB false false",
			func() string { return r.sizes(in) })
		back := r.target()
		redrive, err := in.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
			Selection: deadletter.Selection{Namespace: "default"}, Destination: back, Start: true,
			Plan: deadletter.Plan{Observe: deadletter.NoObservation}})
		if err != nil {
			t.Fatal(err)
		}
		await.Text(r.t, "the redrive", "done", func() string {
			d, err := in.Redrive(t.Context(), redrive.ID)
			if err != nil {
				return err.Error()
			}
			return string(d.State)
		})
		got := brokertest.Receive(t, brokertest.Receiver(t, r.driver, back), len(messages))
		for i := range messages {
			if !bytes.Equal(got[i].Payload, messages[i].Payload) && !bytes.Equal(got[1-i].Payload, messages[i].Payload) {
				t.Errorf("the message of %d bytes does not come back as it was", len(messages[i].Payload))
			}
		}
	})
}
