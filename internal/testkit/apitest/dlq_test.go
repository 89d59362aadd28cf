package apitest_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// TestDLQApplication runs a program in another language, written from a description alone, against a server and a real
// Redis: it pushes failed jobs, lists them, requeues by pattern, clears and restores.
func TestDLQApplication(t *testing.T) { onEveryStore(t, testDLQApplication) }

func testDLQApplication(t *testing.T, s *server) {
	python, err := exec.LookPath("python3")
	if err != nil {
		testserver.OrSkip(t, errors.Join(testserver.ErrMissing, err))
	}
	redis := redistest.Start(t)
	const prefix = "cam:"
	for name, queue := range map[string]string{"detection": "dlq:" + prefix + "detection_queue",
		"overflow": "dlq:overflow:" + prefix + "detection_queue"} {
		source := deadletters.Source{Name: name, Driver: "redis-list", URL: redis.URL(), Queue: queue,
			Targets: []string{prefix + "spare"}}
		_, err := deadletters.Of(s.Client).SaveSource(s.ctx, deadletters.SourceRequest{Source: source})
		if err != nil {
			t.Fatal(err)
		}
	}
	application := exec.CommandContext(s.ctx, python, "testdata/dlq_application.py", s.url, redis.URL(), prefix)
	out, err := application.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Fatalf("%v: the application says\n%s", err, out)
	}
	// Without Redis no queue is shown as empty.
	if err := redis.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/dlq/stats", "/api/dlq/jobs/overflow"} {
		resp, err := s.http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 503 {
			t.Errorf("GET %s without Redis: %s", path, fmt.Sprint(resp.Status))
		}
	}
}
