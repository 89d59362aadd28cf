package apitest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/host/node"
)

var flowEvents = []tasker.EventType{tasker.EventPauseBegun, tasker.EventPauseEnded, tasker.EventScheduleFired,
	tasker.EventScheduleMissed}

type heard struct {
	t      *testing.T
	events chan tasker.Event
}

// hear opens a stream; later events are in it.
func (s *server) hear(t *testing.T, f tasker.EventFilter) *heard {
	t.Helper()
	h := &heard{t: t, events: make(chan tasker.Event, 100)}
	ctx, stop := context.WithCancel(s.ctx)
	open, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for batch, err := range s.StreamEvents(ctx, f) {
			if err != nil {
				return
			}
			for _, e := range batch {
				switch e.Type {
				case tasker.EventStreamOpen:
					close(open)
				case tasker.EventStreamAlive, tasker.EventStreamGap: // the stream has events of this node, too
				default:
					h.events <- e
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	select {
	case <-open:
	case <-time.After(patience):
		t.Fatal("the stream does not open")
	}
	return h
}

func (h *heard) next() string {
	h.t.Helper()
	select {
	case e := <-h.events:
		out := fmt.Sprintf("%s %s %q", e.Type, e.Namespace, e.Cause)
		if p := e.Pause; p != nil {
			out += fmt.Sprintf(" %s %s%s %v by %s until=%t ended_by=%q", p.Kind, p.Handler, p.Template, p.Capabilities,
				p.PausedBy, p.Until != nil, p.EndedBy)
		}
		if s := e.Schedule; s != nil {
			out += fmt.Sprintf(" %s kind=%q reason=%q %d from %s to %s, %d tasks", s.Name, s.Kind, s.Reason, s.Count,
				s.First.Format(time.DateOnly), s.Last.Format(time.DateOnly), len(s.Tasks))
		}
		return out
	case <-time.After(patience):
		h.t.Fatal("no event arrives")
		return ""
	}
}

func (h *heard) want(want ...string) {
	h.t.Helper()
	for _, w := range want {
		if got := h.next(); got != w {
			h.t.Errorf("the event is\n  %s\nwant\n  %s", got, w)
		}
	}
}

// TestFlowEvents: streams have the begin and the end of pauses, firings of schedules and missed times, with actor,
// reason and end. A stream of one namespace has only its events.
func TestFlowEvents(t *testing.T) { onEveryStore(t, testFlowEvents) }

func testFlowEvents(t *testing.T, s *server) {
	h := s.hear(t, tasker.EventFilter{Types: flowEvents, Namespaces: []string{"audio"}})
	backend := flow.Of(s.Client)
	route := flow.Target{Kind: flow.Route, Namespace: "audio", Handler: "encode", Capabilities: []string{"gpu"}}
	for _, r := range []flow.PauseRequest{
		{Target: flow.Target{Kind: flow.Handler, Namespace: "video", Handler: "encode"}, PausedBy: "eve"},
		{Target: route, PausedBy: "ann", Reason: "the driver is old"},
		{Target: route, PausedBy: "bob", Reason: "and new", Until: new(time.Now().Add(time.Hour))},
		{Target: flow.Target{Kind: flow.Template, Namespace: "audio", Template: "mix"}, PausedBy: "ann",
			Until: new(time.Now().Add(2 * time.Second))},
	} {
		if _, err := backend.Pause(s.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	h.want(`pause.begun audio "the driver is old" route encode [gpu] by ann until=false ended_by=""`,
		`pause.begun audio "and new" route encode [gpu] by bob until=true ended_by=""`,
		`pause.begun audio "" template mix [] by ann until=true ended_by=""`,
		`pause.ended audio "its time is over" template mix [] by ann until=true ended_by="system"`)
	if _, err := backend.ResumePaused(s.ctx, flow.ResumePausedRequest{Target: route, ResumedBy: "eve",
		Reason: "rolled back"}); err != nil {
		t.Fatal(err)
	}
	h.want(`pause.ended audio "rolled back" route encode [gpu] by bob until=true ended_by="eve"`)

	s.send(t, "POST", "/v1/schedules",
		`{"name":"night","namespace":"audio","cron":"@daily","task_type":"idle","overlap":"skip"}`, nil)
	fill := `{"from":"2026-01-01T00:00:00Z","until":"2026-01-31T00:00:00Z"}`
	s.send(t, "POST", "/v1/schedules/audio/night/backfill", fill, nil)
	h.want(`schedule.fired audio "" night kind="backfill" reason="" 1 from 2026-01-01 to 2026-01-01, 1 tasks`,
		`schedule.missed audio "" night kind="" reason="overlap" 30 from 2026-01-02 to 2026-01-31, 0 tasks`)
	fill = `{"from":"2026-02-01T00:00:00Z","until":"2026-02-28T00:00:00Z","overlap":"allow"}`
	s.send(t, "POST", "/v1/schedules/audio/night/backfill", fill, nil)
	h.want(`schedule.fired audio "" night kind="backfill" reason="" 28 from 2026-02-01 to 2026-02-28, 10 tasks`)
	if n := len(h.events); n != 0 {
		t.Errorf("there are %d further events", n)
	}
}

type hook struct {
	t        *testing.T
	endpoint webhook.Endpoint
	got      chan string
}

func newHook(t *testing.T, types ...tasker.EventType) *hook {
	t.Helper()
	secret, err := webhook.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{t: t, got: make(chan string, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e deadletters.WebhookEvent
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			h.got <- err.Error()
			return
		}
		switch {
		case e.Data.Pause != nil:
			h.got <- fmt.Sprint(e.Type, " ", e.Data.Pause.Kind, " ", e.Data.Pause.PausedBy)
		case e.Data.Approval != nil:
			h.got <- fmt.Sprint(e.Type, " ", e.Data.Approval.Step, " ", e.Data.Approval.Result)
		case e.Data.Schedule != nil:
			h.got <- fmt.Sprint(e.Type, " ", e.Data.Schedule.Name, " ", e.Data.Schedule.Kind)
		}
	}))
	t.Cleanup(server.Close)
	h.endpoint = webhook.Endpoint{Name: "hook-" + string(types[0]), URL: server.URL, Secrets: []webhook.Secret{secret}}
	for _, e := range types {
		h.endpoint.Events = append(h.endpoint.Events, string(e))
	}
	return h
}

func (h *hook) take() string {
	h.t.Helper()
	select {
	case got := <-h.got:
		return got
	case <-time.After(patience):
		h.t.Fatal("nothing arrives")
		return ""
	}
}

// TestFlowWebhooks: only webhooks with these types get the events.
func TestFlowWebhooks(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		named, other := newHook(t, flowEvents...), newHook(t, tasker.EventOutageOpened)
		s := serve(t, dsn, node.Options{Webhooks: []webhook.Endpoint{named.endpoint, other.endpoint}})
		target := flow.Target{Kind: flow.Namespace, Namespace: "audio"}
		if _, err := flow.Of(s.Client).Pause(s.ctx, flow.PauseRequest{Target: target, PausedBy: "ann"}); err != nil {
			t.Fatal(err)
		}
		s.send(t, "POST", "/v1/schedules",
			`{"name":"night","namespace":"video","cron":"@daily","task_type":"idle"}`, nil)
		s.send(t, "POST", "/v1/schedules/video/night/run", `{}`, nil)
		got := []string{named.take(), named.take()}
		slices.Sort(got)
		if fmt.Sprint(got) != "[pause.begun namespace ann schedule.fired night run]" {
			t.Errorf("the webhook got %v", got)
		}
		if n := len(other.got); n != 0 {
			t.Errorf("a webhook that names no type got %d events", n)
		}
	})
}
