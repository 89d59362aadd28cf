package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/dashboard"
	"github.com/taskerhq/tasker/internal/dashboard/now"
	"github.com/taskerhq/tasker/internal/dashboard/session"
	"github.com/taskerhq/tasker/internal/dashboard/system"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// server is a server with the dashboard, on an engine with SQLite.
type server struct {
	t      testing.TB
	engine *node.Node
	url    string
	http   *httptest.Server
	keys   map[string]string // secrets by name
}

func serve(t testing.TB, keys ...access.Key) *server {
	t.Helper()
	return serveWith(t, node.Options{}, keys...)
}

func serveWith(t testing.TB, opts node.Options, keys ...access.Key) *server {
	t.Helper()
	return serveOn(t, "sqlite:"+sqlitetest.File(t), opts, keys...)
}

func serveOn(t testing.TB, dsn string, opts node.Options, keys ...access.Key) *server {
	t.Helper()
	b, err := node.Open(t.Context(), dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, engine: b, keys: map[string]string{}}
	for i := range keys {
		s.keys[keys[i].Name], keys[i].SHA256 = access.Generate()
	}
	ring, err := access.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	front := web.New(web.Options{Keys: ring})
	api := httpapi.New(b, httpapi.Options{Front: front, DeadLetters: b.DeadLetters(), Jobs: b.Jobs(),
		Schedules: b.Schedules(), Messages: b.Messages(), Sensitive: b, LoopbackOnly: len(keys) == 0})
	direct, err := api.Direct()
	if err != nil {
		t.Fatal(err)
	}
	history := now.NewHistory(func(ctx context.Context) (*queueapi.QueueStats, error) {
		return b.QueueStats(ctx, queueapi.QueueFilter{})
	})
	board := dashboard.New(dashboard.Options{Front: front, API: direct, Events: b.StreamEvents, History: history,
		Sessions: session.New(session.Options{Keys: ring, Store: b}), Open: len(keys) == 0,
		LoopbackOnly: len(keys) == 0, About: system.About{Version: "test", Settings: func() []system.Setting {
			return []system.Setting{{Key: "server.listen", Value: "127.0.0.1:8080", Source: "default"}}
		}}}, api)
	h := httptest.NewServer(board)
	s.url, s.http = h.URL, h
	t.Cleanup(func() {
		h.Close()
		if err := direct.Close(); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type answer struct {
	status int
	body   string
	header http.Header
	url    string // after redirects
}

// viewer is a browser without scripts.
type viewer struct {
	s    *server
	http *http.Client
}

func (s *server) viewer() *viewer {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &viewer{s, &http.Client{Jar: jar, Timeout: time.Minute}}
}

func (s *server) as(key string) *viewer {
	s.t.Helper()
	v := s.viewer()
	got := v.post("/signin", "key", s.keys[key])
	if got.status != http.StatusOK || !strings.Contains(got.body, "Sign out everywhere") {
		s.t.Fatalf("sign in as %s: %d\n%s", key, got.status, got.body)
	}
	return v
}

func (v *viewer) do(r *http.Request) answer {
	v.s.t.Helper()
	resp, err := v.http.Do(r)
	if err != nil {
		v.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.s.t.Fatal(err)
	}
	return answer{resp.StatusCode, string(body), resp.Header, resp.Request.URL.RequestURI()}
}

func (v *viewer) request(method, path string, form url.Values) *http.Request {
	v.s.t.Helper()
	r, err := http.NewRequestWithContext(v.s.t.Context(), method, v.s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.s.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (v *viewer) get(path string) answer {
	v.s.t.Helper()
	return v.do(v.request(http.MethodGet, path, nil))
}

func (v *viewer) page(path string, want ...string) string {
	v.s.t.Helper()
	got := v.get(path)
	if got.status != http.StatusOK {
		v.s.t.Fatalf("GET %s = %d\n%s", path, got.status, got.body)
	}
	for _, text := range want {
		if !strings.Contains(got.body, text) {
			v.s.t.Errorf("GET %s has no %q:\n%s", path, text, main(got.body))
		}
	}
	return got.body
}

var tokenField = regexp.MustCompile(`X-CSRF-Token":"([^"]*)"`)

// token returns the token of the viewer's forms.
func (v *viewer) token() string {
	v.s.t.Helper()
	found := tokenField.FindStringSubmatch(v.get("/signin").body)
	if found == nil { // a server without keys has no such page
		found = tokenField.FindStringSubmatch(v.get("/").body)
	}
	if found == nil {
		v.s.t.Fatal("the page has no token")
	}
	return found[1]
}

// post sends a form as the scripts of a page do, and follows to the next page.
func (v *viewer) post(path string, fields ...string) answer {
	v.s.t.Helper()
	return v.postWith(v.token(), path, fields...)
}

func (v *viewer) postWith(token, path string, fields ...string) answer {
	v.s.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := v.request(http.MethodPost, path, form)
	r.Header.Set("X-CSRF-Token", token)
	return v.do(r)
}

func main(page string) string {
	_, rest, _ := strings.Cut(page, "<main")
	rest, _, _ = strings.Cut(rest, "</main>")
	return rest
}

// fail submits a task and fails its only step for good.
func (s *server) fail(name, message string, context string) uuid.UUID {
	s.t.Helper()
	receipts, err := s.engine.SubmitTasks(s.t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{
		{TaskType: name, Context: json.RawMessage(context), Tags: []string{"red"}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	w, err := s.engine.RegisterWorker(s.t.Context(), protocol.WorkerRegistration{Name: "tester", Handlers: []string{name}})
	if err != nil {
		s.t.Fatal(err)
	}
	work, err := s.engine.Poll(s.t.Context(), protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 1, WaitMS: 10_000,
		Start: true})
	if err != nil || len(work.Steps) != 1 {
		s.t.Fatalf("%+v, %v", work, err)
	}
	never := false
	answers, err := s.engine.Settle(s.t.Context(), protocol.SettleRequest{WorkerID: w.WorkerID,
		Results: []protocol.StepResult{{StepUUID: work.Steps[0].StepUUID, Token: work.Steps[0].Token,
			Status: protocol.ResultFailed, Error: &tasker.Failure{Type: "Broken", Message: message, Retryable: &never}}}})
	if err != nil || answers[0].Error != nil {
		s.t.Fatalf("%+v, %v", answers, err)
	}
	return receipts[0].TaskUUID
}

// report stores dead letters of a source that programs report to.
func (s *server) report(failures ...deadletters.Report) []deadletters.Receipt {
	s.t.Helper()
	letters := s.engine.DeadLetters()
	_, err := letters.SaveSource(s.t.Context(), deadletters.SourceRequest{Source: deadletters.Source{Name: "billing",
		Driver: "http", Targets: []string{"http://127.0.0.1:1/orders"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.reportTo(failures...)
}

func (s *server) reportTo(failures ...deadletters.Report) []deadletters.Receipt {
	s.t.Helper()
	got, err := s.engine.DeadLetters().Report(s.t.Context(), deadletters.ReportRequest{Source: "billing",
		Reports: failures})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.engine.RunOnce(s.t.Context()); err != nil { // adds the counts of groups up
		s.t.Fatal(err)
	}
	return got
}

func dead(message, payload string) deadletters.Report {
	r := deadletters.NewReport("http://127.0.0.1:1/orders", []byte(payload), errors.New(message))
	r.Failure.Type, r.Handler = "Broken", "billing"
	r.Headers = []deadletters.Header{{Name: "tenant", Value: "acme"}}
	return r
}

func (s *server) stop() {
	s.t.Helper()
	if err := s.http.Listener.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.http.CloseClientConnections()
}

func (s *server) start() {
	s.t.Helper()
	ln, err := net.Listen("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	again := &http.Server{Handler: s.http.Config.Handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- again.Serve(ln) }()
	s.t.Cleanup(func() {
		if err := again.Close(); err != nil {
			s.t.Error(err)
		}
		<-ended
	})
}
