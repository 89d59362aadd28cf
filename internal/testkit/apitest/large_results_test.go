package apitest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/blob"
	_ "github.com/taskerhq/tasker/embedded/s3"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/blobstore"
	"github.com/taskerhq/tasker/internal/testkit/s3test"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

const largeTemplates = `name: report
version: "1"
steps:
  - {name: make, handler: make, retry: {max_attempts: 1}}
  - {name: use, handler: use, dependencies: [make], retry: {max_attempts: 1}}
`

// flaky is a blob store that fails a number of times.
type flaky struct {
	blob.Store
	puts, gets atomic.Int32
}

func (f *flaky) Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error {
	if f.puts.Add(-1) >= 0 {
		return errors.New("no route to host")
	}
	return f.Store.Put(ctx, key, content, size, sum)
}

func (f *flaky) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if f.gets.Add(-1) >= 0 {
		return nil, errors.New("no route to host")
	}
	return f.Store.Get(ctx, key)
}

func directory(t *testing.T, dir string) blob.Store {
	t.Helper()
	s, err := blobstore.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var twenty = strings.Repeat("0123456789abcdef", 20<<16)

// testLargeResults: a worker of the SDK returns 20 MiB; its dependant and callers read them.
func testLargeResults(t *testing.T, dsn string, store blob.Store) *server {
	s := serve(t, dsn, node.Options{Blobs: store})
	s.register(t, largeTemplates)
	s.work(t, map[string]worker.Handler{
		"make": func(context.Context, *worker.Job) (any, error) { return twenty, nil },
		"use": func(_ context.Context, job *worker.Job) (any, error) {
			text, err := worker.ParentResult[string](job, "make")
			if err != nil || text != twenty || job.LargeResults["make"].Bytes != int64(len(twenty)+2) {
				return nil, errors.Join(err, errors.New("the dependant read something else"))
			}
			return len(text), nil
		},
	})
	task := s.submit(t, tasker.NewTask("report", nil)).TaskUUID
	var length int
	if err := s.Result(s.ctx, task, "use", &length); err != nil || length != len(twenty) {
		t.Fatalf("the dependant: %d, %v", length, err)
	}
	var text string
	if err := s.Result(s.ctx, task, "make", &text); err != nil || text != twenty {
		t.Fatalf("the result has %d bytes, %v", len(text), err)
	}
	return s
}

func TestLargeResults(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		dir := t.TempDir()
		s := testLargeResults(t, dsn, directory(t, dir))
		page, err := s.Tasks(s.ctx, tasker.TaskFilter{})
		if err != nil || len(page.Tasks) != 1 {
			t.Fatal(err)
		}
		task := page.Tasks[0].TaskUUID
		steps, err := s.Steps(s.ctx, task)
		if err != nil || steps[0].LargeResult == nil || steps[0].Results != nil || steps[0].Attempts != 1 ||
			steps[1].LargeResult != nil {
			t.Fatalf("%+v, %v", steps, err)
		}
		content, err := s.Client.LargeResult(s.ctx, task, &steps[0])
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := io.ReadAll(content); err != nil || string(raw) != `"`+twenty+`"` {
			t.Errorf("the stream had %d bytes, %v", len(raw), err)
		}
		if err := content.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Client.LargeResult(s.ctx, task, &steps[1]); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("of a step without: %v", err)
		}
		// For a key of another namespace the task does not exist.
		other := s.keyed(t, []string{"read"}, "elsewhere")
		if _, err := other.LargeResult(s.ctx, task, &steps[0]); tasker.ErrorCode(err) != tasker.CodeNotFound {
			t.Errorf("for a key of another namespace: %v", err)
		}
		// A changed object is noticed.
		files, err := filepath.Glob(filepath.Join(dir, "*-*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if err := os.WriteFile(files[0], []byte(`"`+strings.Replace(twenty, "f", "g", 1)+`"`), 0o600); err != nil {
			t.Fatal(err)
		}
		var text string
		if err := s.Result(s.ctx, task, "make", &text); err == nil || text != "" {
			t.Errorf("a changed object: %d bytes, %v", len(text), err)
		}
		// Without the object, reading fails.
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		if err := s.Result(s.ctx, task, "make", &text); tasker.ErrorCode(err) != tasker.CodeNotFound ||
			!strings.Contains(err.Error(), "missing in the blob store") {
			t.Errorf("a missing object: %v", err)
		}
	})
}

func TestLargeResultsInS3(t *testing.T) {
	s3 := s3test.Shared(t)
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		store, err := blobstore.Open(s3.URL(t), blobstore.Credentials{AccessKeyID: s3.AccessKeyID,
			SecretAccessKey: s3.SecretAccessKey})
		if err != nil {
			t.Fatal(err)
		}
		testLargeResults(t, dsn, store)
	})
}

// TestLargeResultsOutage: without a working blob store, a worker keeps its result and retries; no attempt is charged.
func TestLargeResultsOutage(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		store := &flaky{Store: directory(t, t.TempDir())}
		store.puts.Store(2)
		store.gets.Store(1)
		testLargeResults(t, dsn, store)
	})
}

// TestLargeResultRefused: without a blob store, or with sensitive fields, a large result fails its step.
func TestLargeResultRefused(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		for name, opts := range map[string]node.Options{"Without": {}, "Sensitive": {Blobs: directory(t, t.TempDir())}} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, dsn, opts)
				s.register(t, cards)
				s.work(t, map[string]worker.Handler{
					"charge": func(context.Context, *worker.Job) (any, error) { return twenty, nil },
				})
				task := s.submit(t, tasker.NewTask("pay", 1, tasker.WithNamespace("shop"))).TaskUUID
				var failure *tasker.Failure
				if err := s.Result(s.ctx, task, "", nil); !errors.As(err, &failure) || failure.Type != "result_too_large" {
					t.Errorf("failed with %v", err)
				}
			})
		}
	})
}

// TestLargeResultProtocol: the protocol for other workers.
func TestLargeResultProtocol(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn, node.Options{Blobs: directory(t, t.TempDir())})
		s.register(t, largeTemplates)
		w, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
			protocol.WorkerRegistration{Name: "curl", Handlers: []string{"make", "use"}})
		if err != nil || w.MaxLargeResultBytes != 64<<20 {
			t.Fatal(w, err)
		}
		task := s.submit(t, tasker.NewTask("report", nil)).TaskUUID
		polled, err := protocol.Of(s.Client).Poll(s.ctx,
			protocol.PollRequest{WorkerID: w.WorkerID, WaitMS: 10_000, Start: true})
		if err != nil || len(polled.Steps) != 1 {
			t.Fatal(polled, err)
		}
		held := polled.Steps[0]
		send := func(step uuid.UUID, token, kind, body string) (status int, answer string) {
			t.Helper()
			req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+"/internal/workers/"+w.WorkerID.String()+
				"/steps/"+step.String()+"/large_result", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", kind)
			if token != "" {
				req.Header.Set("Tasker-Lease", token)
			}
			resp, err := s.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, string(raw)
		}
		const json = "application/json"
		for name, c := range map[string]struct {
			token, kind, body string
			status            int
			says              string
		}{
			"NoToken":    {"", json, "1", 409, "stale_token"},
			"OtherToken": {"x", json, "1", 409, "stale_token"},
			"OtherType":  {held.Token, "text/plain", "1", 415, "application/json"},
			"NoJSON":     {held.Token, json, `{"a":`, 400, "not valid JSON"},
			"Empty":      {held.Token, json, ``, 400, "not valid JSON"},
			"NoUTF8":     {held.Token, json, "\"\xff\"", 400, "UTF-8"},
			"Deep":       {held.Token, json, strings.Repeat("[", 201), 400, "deeper"},
			"TooLarge":   {held.Token, json, `"` + strings.Repeat("x", 64<<20) + `"`, 413, "more than"},
			"Good":       {held.Token, json, ` {"a": 1} `, 200, `"bytes":10`},
		} {
			status, answer := send(held.StepUUID, c.token, c.kind, c.body)
			if status != c.status || !strings.Contains(answer, c.says) {
				t.Errorf("%s: %d %.300s, want %d with %q", name, status, answer, c.status, c.says)
			}
		}
		receipt, err := s.Client.Backend.(protocol.LargeResultBackend).SendLargeResult(s.ctx, w.WorkerID,
			protocol.LeaseRef{StepUUID: held.StepUUID, Token: held.Token}, []byte(` {"a": 1} `))
		if err != nil {
			t.Fatal(err)
		}
		settle := func(reference string) *tasker.Error {
			t.Helper()
			answers, err := protocol.Of(s.Client).Settle(s.ctx,
				protocol.SettleRequest{WorkerID: w.WorkerID, Results: []protocol.StepResult{{
					StepUUID: held.StepUUID, Token: held.Token, Status: protocol.ResultCompleted, LargeResult: reference}}})
			if err != nil {
				t.Fatal(err)
			}
			return answers[0].Error
		}
		if err := settle("unknown"); err == nil || err.Code != tasker.CodeInvalid {
			t.Errorf("an unknown reference: %v", err)
		}
		if err := settle(receipt.Reference); err != nil {
			t.Errorf("settled: %v", err)
		}
		// A small result that was sent apart stays apart, to the byte.
		steps, err := s.Steps(s.ctx, task)
		if err != nil || steps[0].LargeResult == nil || *steps[0].LargeResult != receipt.LargeResult {
			t.Fatalf("%+v, %v", steps, err)
		}
		queued, err := s.QueueTask(s.ctx, task, false)
		if err != nil || !strings.Contains(string(queued.Result), `"large_result":{"bytes":10`) {
			t.Errorf("in the queue API: %s, %v", queued.Result, err)
		}
	})
}
