package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
)

// stage is a server of streams: the n-th request gets the n-th script, later ones the last. A script is a stream, at
// whose end the connection is lost; "hang" at its end leaves the stream silent. "away" is no answer, and a number is
// the status of a refusal.
type stage struct {
	scripts []string
	seen    []string
	asked   []string // the other requests: for a task, which is complete
	first   string   // not "": the first waiting request for a task is held, and returns this state
	over    int      // requests that the client cancelled
}

func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/v1/events" {
		s.asked = append(s.asked, r.URL.RequestURI())
		if wait, state := r.URL.Query().Get("wait_ms"), s.first; state != "" && wait != "" {
			return s.hold(r, wait, state)
		}
		return respond(r, 200, "application/json", strings.NewReader(`{"state":"complete"}`)), nil
	}
	s.seen = append(s.seen, r.Header.Get("Last-Event-ID"))
	script := s.scripts[min(len(s.seen), len(s.scripts))-1]
	switch script {
	case "away":
		return nil, errors.New("connection refused")
	case "403", "404", "429", "503":
		code := map[string]tasker.Code{"403": tasker.CodeForbidden, "404": tasker.CodeNotFound, "429": tasker.CodeExhausted,
			"503": tasker.CodeUnavailable}[script]
		var status int
		fmt.Sscan(script, &status)
		return respond(r, status, "application/problem+json", strings.NewReader(`{"code":"`+string(code)+`"}`)), nil
	}
	script, hangs := strings.CutSuffix(script, "hang")
	var body io.Reader = strings.NewReader(script)
	if hangs {
		body = io.MultiReader(body, &silence{r.Context(), s})
	}
	return respond(r, 200, "text/event-stream", body), nil
}

// hold answers the first request that waits: with a state after the wait, or not at all.
func (s *stage) hold(r *http.Request, wait, state string) (*http.Response, error) {
	if state == "away" {
		return nil, errors.New("connection refused")
	}
	s.first = ""
	held, err := time.ParseDuration(wait + "ms")
	if err != nil {
		return nil, err
	}
	time.Sleep(held)
	return respond(r, 200, "application/json", strings.NewReader(`{"state":"`+state+`"}`)), nil
}

func respond(r *http.Request, status int, kind string, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(body), Request: r}
}

type silence struct {
	ctx   context.Context
	stage *stage
}

func (s *silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	s.stage.over++
	return 0, s.ctx.Err()
}

func (s *stage) dial(t *testing.T) *tasker.Client {
	t.Helper()
	c, err := remote.Dial("http://stage", &remote.Options{HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func said(id, kind string) string {
	return "id: " + id + "\nevent: " + kind + "\ndata: {\"id\":\"" + id + "\",\"type\":\"" + kind + "\"}\n\n"
}

// follow receives at most so many events as "TYPE ID", and the error's code at the end.
func follow(ctx context.Context, c *tasker.Client, filter tasker.EventFilter, most int) []string {
	var got []string
	for e, err := range c.Events(ctx, filter) {
		if err != nil {
			return append(got, string(tasker.ErrorCode(err)))
		}
		if got = append(got, string(e.Type)+" "+e.ID); len(got) == most {
			break
		}
	}
	return got
}

func TestEvents(t *testing.T) {
	t.Parallel()
	open, one, two, gap, end := said("r-0", "stream.open"), said("r-1", "task.state"), said("r-2", "task.state"),
		said("s-7", "stream.gap"), said("s-8", "stream.end")
	for name, tc := range map[string]struct {
		scripts []string
		want    string
		seen    string
	}{
		"ResumesBehindTheLast": {[]string{open + one, two + end}, "stream.open r-0, task.state r-1, task.state r-2", ", r-1"},
		"AliveMovesOnUnseen":   {[]string{open + ": alive\nid: r-5\n\n", end}, "stream.open r-0", ", r-5"},
		"GapOfAnotherServer": {[]string{open + one, "away", "away", "503", gap + end},
			"stream.open r-0, task.state r-1, stream.gap s-7", ", r-1, r-1, r-1, r-1"},
		"HalfAnEvent":         {[]string{open + one[:len(one)-1], one + end}, "stream.open r-0, task.state r-1", ", r-0"},
		"TooManyStreamsLater": {[]string{open, "429", one + end}, "stream.open r-0, task.state r-1", ", r-0, r-0"},
		"AwayAtFirst":         {[]string{"away"}, "unavailable", ""},
		"RefusedAtFirst":      {[]string{"429"}, "exhausted", ""},
		"KeyTakenAway":        {[]string{open, "403"}, "stream.open r-0, forbidden", ", r-0"},
		"NoSuchTask":          {[]string{"404"}, "not_found", ""},
		"Garbage":             {[]string{open + "data: {\n\n", one + end}, "stream.open r-0, task.state r-1", ", r-0"},
		"FallsSilent":         {[]string{open + "hang", one + end}, "stream.open r-0, task.state r-1", ", r-0"},
		"OtherLineEnds": {[]string{strings.ReplaceAll(open+": note\nretry: 5\nunknown: x\n"+one+end, "\n", "\r\n")},
			"stream.open r-0, task.state r-1", ""},
		"DataInLines": {[]string{"id:r-3\ndata:{\"type\":\ndata:\"case.opened\"}\n\n" + end}, "case.opened r-3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &stage{scripts: tc.scripts}
				if got := strings.Join(follow(t.Context(), s.dial(t), tasker.EventFilter{}, 100), ", "); got != tc.want {
					t.Errorf("events are %q, want %q", got, tc.want)
				}
				if got := strings.Join(s.seen, ", "); got != tc.seen {
					t.Errorf("streams were asked for behind %q, want %q", got, tc.seen)
				}
			})
		})
	}
}

// The client does not wait for a server that accepts and stays silent.
func TestEventsSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{scripts: []string{"hang"}}
		begun := time.Now()
		got := follow(t.Context(), s.dial(t), tasker.EventFilter{}, 100)
		if took := time.Since(begun); !slices.Equal(got, []string{"unavailable"}) || took > time.Minute || s.over != 1 {
			t.Errorf("events are %q after %v; %d requests were given up", got, took, s.over)
		}
	})
}

func TestEventsEndlessLine(t *testing.T) {
	t.Parallel()
	s := &stage{scripts: []string{"data: " + strings.Repeat("x", 2<<20)}}
	if got := follow(t.Context(), s.dial(t), tasker.EventFilter{}, 1); !slices.Equal(got, []string{"too_large"}) {
		t.Errorf("events are %q", got)
	}
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	open := said("r-0", "stream.open")
	t.Run("WhenTheCallerStops", func(t *testing.T) {
		t.Parallel()
		s := &stage{scripts: []string{open + open + "hang"}}
		if got := follow(t.Context(), s.dial(t), tasker.EventFilter{}, 1); len(got) != 1 || len(s.seen) != 1 {
			t.Errorf("events are %q, of %d streams", got, len(s.seen))
		}
	})
	t.Run("WithTheContext", func(t *testing.T) {
		t.Parallel()
		for _, script := range []string{open + "hang", open} { // while it listens, and while it is away
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				s := &stage{scripts: []string{script, "away"}}
				for _, err := range s.dial(t).Events(ctx, tasker.EventFilter{}) {
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("the stream ended with %v", err)
					}
				}
				if ctx.Err() == nil {
					t.Error("the stream ended before its context")
				}
			})
		}
	})
	t.Run("WithTheClient", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := (&stage{scripts: []string{open + "hang"}}).dial(t)
			time.AfterFunc(time.Second, func() { c.Close() })
			if got := follow(t.Context(), c, tasker.EventFilter{}, 100); !slices.Equal(got,
				[]string{"stream.open r-0", "unavailable"}) {
				t.Errorf("events are %q", got)
			}
		})
	})
}

func TestWaitOnAStream(t *testing.T) {
	t.Parallel()
	open, end := said("r-0", "stream.open"), said("r-1", "stream.end")
	for name, tc := range map[string]struct {
		first   string
		scripts []string
		polls   int
		want    tasker.Code
	}{
		"SettledSoon":       {"complete", nil, 1, ""},
		"PollsNoLonger":     {"steps_in_process", []string{open + end}, 1, ""},
		"OutlivesTheServer": {"steps_in_process", []string{open, "away", "away", "503", open + end}, 1, ""},
		"NotForEver":        {"steps_in_process", []string{open, "away"}, 1, tasker.CodeUnavailable},
		"AwayAtFirst":       {"away", nil, 2, tasker.CodeUnavailable},
		"AnOldServer":       {"steps_in_process", []string{"404"}, 2, ""},
		"TooManyStreams":    {"steps_in_process", []string{"429"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &stage{first: tc.first, scripts: tc.scripts}
				got, err := s.dial(t).Wait(t.Context(), uuid.New())
				if tasker.ErrorCode(err) != tc.want && (err != nil || tc.want != "") {
					t.Errorf("Wait = %v, want the code %q", err, tc.want)
				}
				if err == nil && got.State != tasker.TaskComplete {
					t.Errorf("the task is %s", got.State)
				}
				polls := 0
				for _, uri := range s.asked {
					if strings.Contains(uri, "wait_ms=") {
						polls++
					}
				}
				if polls != tc.polls || len(s.seen) < len(tc.scripts) {
					t.Errorf("%d polls, want %d; asked for %q and %d streams", polls, tc.polls, s.asked, len(s.seen))
				}
			})
		})
	}
}

// A server that leaves while it holds the first request was there.
func TestWaitOutlivesTheServerAtOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 2 { // a read is tried again once
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"state":"complete"}`)
	}))
	defer server.Close()
	c, err := remote.Dial(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := c.Wait(t.Context(), uuid.New()); err != nil || got.State != tasker.TaskComplete {
		t.Errorf("Wait = %+v, %v", got, err)
	}
}
