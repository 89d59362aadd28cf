package doctest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

// TestMain puts the program under its names on the path.
func TestMain(m *testing.M) {
	program := func() { os.Exit(cli.Main("v0.0.0-test")) }
	testscript.Main(m, map[string]func(){"tasker": program, "tasker-cli": program})
}

// pageURL is the server's address on the pages.
const pageURL = "http://127.0.0.1:8080"

// patience bounds the time until a broken page fails.
const patience = 3 * time.Minute

func TestReadme(t *testing.T) {
	t.Parallel()
	if ran, shown := (script{page: "README.md"}).run(t, serve(t)); ran != 3 || shown != 2 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

func TestPausesPage(t *testing.T) {
	t.Parallel()
	if ran, shown := (script{page: "docs/guides/pauses.md"}).run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run", ran)
	}
}

func TestOutagesPage(t *testing.T) {
	t.Parallel()
	if ran, _ := (script{page: "docs/guides/outages.md"}).run(t, serve(t)); ran != 1 {
		t.Errorf("the page has %d blocks to run", ran)
	}
}

func TestWorkflowsPage(t *testing.T) {
	t.Parallel()
	if ran, _ := (script{page: "docs/guides/workflows.md"}).run(t, serve(t)); ran != 6 {
		t.Errorf("the page has %d blocks to run", ran)
	}
}

func TestLimitsPage(t *testing.T) {
	t.Parallel()
	if ran, _ := (script{page: "docs/guides/limits.md"}).run(t, serve(t)); ran != 2 {
		t.Errorf("the page has %d blocks to run", ran)
	}
}

func TestLongWorkPage(t *testing.T) {
	t.Parallel()
	if ran, _ := (script{page: "docs/guides/long-work.md"}).run(t, serve(t)); ran != 1 {
		t.Errorf("the page has %d blocks to run", ran)
	}
}

func TestProgramsPage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "jq", "python3")
	if ran, shown := (script{page: "docs/guides/programs-as-workers.md"}).run(t, serve(t)); ran != 4 || shown != 2 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

// TestSecuringPage starts another server, with keys.
func TestSecuringPage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "jq")
	page := script{page: "docs/guides/securing.md", before: "unset ${!TASKER_TEST_@} TASKER_SERVER\n"}
	if ran, shown := page.run(t, serve(t)); ran != 4 || shown != 3 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

func TestLargeResultsPage(t *testing.T) {
	t.Parallel()
	to := serveOn(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), func(c *config.Config) {
		c.Blobs.URL = "file:" + t.TempDir()
	})
	if ran, shown := (script{page: "docs/guides/large-results.md"}).run(t, to); ran != 1 || shown != 1 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

func TestSchedulesPage(t *testing.T) {
	t.Parallel()
	if ran, shown := (script{page: "docs/guides/schedules.md"}).run(t, serve(t)); ran != 2 || shown != 1 {
		t.Errorf("the page has %d blocks to run", ran)
	}
}

// TestCurlWorker runs the worker of docs/reference/worker-protocol.md on a task.
func TestCurlWorker(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "curl")
	var worker string
	for _, b := range blocks(t, "docs/reference/worker-protocol.md") {
		if b.Language == "bash" {
			worker = b.Text
		}
	}
	if n := strings.Count(worker, "\n"); n < 5 || n > 11 {
		t.Fatalf("the worker has %d lines; the page promises ten", n)
	}
	server := serve(t)
	session := start(t, server, worker)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"world", "curl"} {
		task, err := server.client.Submit(ctx, tasker.NewHandlerTask("greet", name))
		if err != nil {
			t.Fatal(err)
		}
		var greeting string
		if err := server.client.Result(ctx, task.TaskUUID, "", &greeting); err != nil {
			t.Fatalf("%v\nthe worker says:\n%s", err, session.stop())
		}
		if greeting != "Hello, "+name+"!" {
			t.Errorf("the worker answers %q", greeting)
		}
	}
}

func blocks(t *testing.T, page string) []pagetest.Block {
	t.Helper()
	found := pagetest.Blocks(read(t, page))
	if len(found) == 0 {
		t.Fatalf("%s has no blocks", page)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// server is a whole server in this process, at a free address.
type server struct {
	url    string
	client *tasker.Client
}

func serve(t *testing.T) server {
	t.Helper()
	return serveOn(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), nil)
}

// serveOn starts a server on a database, with defaults changed by configure.
func serveOn(t *testing.T, dsn string, configure func(*config.Config)) server {
	t.Helper()
	cfg := config.Default()
	cfg.DB.DSN, cfg.Server.Listen = dsn, "127.0.0.1:0"
	if configure != nil {
		configure(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan server, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, &cfg, app.Options{Ready: func(n app.Node) error {
			ready <- server{n.URL, n.Client}
			return nil
		}})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	select {
	case s := <-ready:
		return s
	case err := <-ended:
		ended <- err
		t.Fatal("the server did not start")
		return server{}
	}
}

// session is a bash with the commands of a page.
type session struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

func start(t *testing.T, to server, script string) *session {
	t.Helper()
	pagetest.Need(t, "bash")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s := &session{cmd: exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c",
		strings.ReplaceAll(script, pageURL, to.url))}
	s.cmd.Dir = t.TempDir()
	// A program built for the race detector sleeps for a second before it ends.
	s.cmd.Env = append(os.Environ(), "TASKER_SERVER="+to.url, "GORACE=atexit_sleep_ms=10")
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.WaitDelay = time.Second // curl may hold the pipe when bash has gone
	if err := s.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop()
		cancel()
	})
	return s
}

func (s *session) wait() (string, error) {
	err := pagetest.Ended(s.cmd.Wait())
	return s.out.String(), err
}

// stop ends the session, if necessary, and returns its output.
func (s *session) stop() string {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	return s.out.String()
}

func TestQueueAPI(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "curl")
	pagetest.Need(t, "jq")
	if ran, shown := (script{page: "docs/reference/queue-api.md"}).run(t, serve(t)); ran != 4 || shown != 4 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

func TestUniquePage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "curl")
	pagetest.Need(t, "jq")
	if ran, shown := (script{page: "docs/guides/unique.md"}).run(t, serve(t)); ran != 4 || shown != 4 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}
