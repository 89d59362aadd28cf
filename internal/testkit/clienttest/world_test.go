//go:build unix

package clienttest_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	// All sources of the binary: a change must run the test again, not answer from the cache.
	_ "github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

const patience = 90 * time.Second

const (
	adminKey = "admin-key"
	workKey  = "work-key"
	// shopKey reaches the namespace shop-LANGUAGE only; the language follows.
	shopKey = "shop-key-"
)

// leases make leases short, 5 s, but long enough for a busy machine.
func leases() []string {
	return append(process.ShortLeases(), "TASKER_ENGINE_LEASES_MISSED_HEARTBEATS=10")
}

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tasker-clienttest-")
	if err != nil {
		return "", err
	}
	return process.Build(context.Background(), dir)
})

type server struct {
	*process.Server
	client *tasker.Client
	dir    string
	log    string // file
}

func serve(t *testing.T, env ...string) *server {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	addresses, err := process.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	s := &server{dir: dir, log: log.Name(), Server: &process.Server{Program: program, DSN: "sqlite:" + dir + "/tasker.db",
		Address: addresses[0], Env: append(env, "TASKER_KEYS="+keys(), "TASKER_LOG_LEVEL=warn"), Log: log, Group: group}}
	s.start(t)
	s.client, err = remote.Dial(s.URL(), &remote.Options{APIKey: adminKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		s.Stop()
	})
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

func keys() string {
	entry := func(name, secret, rest string) string {
		sum := sha256.Sum256([]byte(secret))
		return fmt.Sprintf("{name: %s, sha256: %q, %s}", name, hex.EncodeToString(sum[:]), rest)
	}
	all := []string{entry("admin", adminKey, "permissions: [admin]"), entry("work", workKey, "permissions: [work]")}
	for _, l := range languages {
		all = append(all, entry("shop-"+l.name, shopKey+l.name,
			fmt.Sprintf("permissions: [work], namespaces: [shop-%s]", l.name)))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// world is a scenario in one language: a namespace of a server, and worker programs.
type world struct {
	*testing.T
	language  *language
	server    *server
	namespace string
	program   []string
	env       []string
	group     *process.Group
	ctx       context.Context
	dir       string
}

func newWorld(t *testing.T, l *language, s *server) *world {
	t.Helper()
	program, env := l.ready(t)
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &world{t, l, s, strings.NewReplacer("/", "-").Replace(t.Name()), program, env, group, ctx, t.TempDir()}
}

func (w *world) submit(handler string, o order, opts ...tasker.TaskOption) uuid.UUID {
	w.Helper()
	opts = append([]tasker.TaskOption{tasker.WithNamespace(w.namespace)}, opts...)
	receipt, err := w.server.client.Submit(w.ctx, tasker.NewHandlerTask(handler, o, opts...))
	if err != nil {
		w.Fatal(err)
	}
	return receipt.TaskUUID
}

// gate returns the name of a missing file, and a function that creates it.
func (w *world) gate(name string) (string, func()) {
	path := filepath.Join(w.dir, name)
	return path, func() {
		w.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) result(id uuid.UUID) output {
	w.Helper()
	var out output
	if err := w.server.client.Result(w.ctx, id, "", &out); err != nil {
		w.Fatalf("task %s: %v", id, err)
	}
	return out
}

func (w *world) failure(id uuid.UUID) tasker.Failure {
	w.Helper()
	task, err := w.server.client.Wait(w.ctx, id)
	if err != nil {
		w.Fatal(err)
	}
	step := w.step(id)
	if task.State != tasker.TaskError || step.LastError == nil {
		w.Fatalf("the task is %s, its step %+v; want an error", task.State, step)
	}
	return *step.LastError
}

func (w *world) step(id uuid.UUID) *tasker.Step {
	w.Helper()
	steps, err := w.server.client.Steps(w.ctx, id)
	if err != nil || len(steps) != 1 {
		w.Fatalf("steps of %s: %d, %v", id, len(steps), err)
	}
	return &steps[0]
}

func (w *world) until(id uuid.UUID, what string, wanted func(*tasker.Step) bool) *tasker.Step {
	w.Helper()
	for {
		step := w.step(id)
		if wanted(step) {
			return step
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-w.ctx.Done():
			w.Fatalf("step is not %s: %+v", what, step)
		}
	}
}

func (w *world) outcomes(id uuid.UUID) []string {
	w.Helper()
	history, err := w.server.client.TaskHistory(w.ctx, id)
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, a := range history.Attempts {
		all = append(all, a.Outcome)
	}
	return all
}

func (w *world) wantOutcomes(id uuid.UUID, want ...string) {
	w.Helper()
	if got := w.outcomes(id); !slices.Equal(got, want) {
		w.Errorf("the attempts ended %v; want %v", got, want)
	}
}

func (w *world) works(name string) {
	w.Helper()
	if got := w.result(w.submit("act", order{Ref: "echo"})); got.Worker != name {
		w.Errorf("the step went to %s, not to %s", got.Worker, name)
	}
}

// idle waits until every worker has reported after now that it holds nothing.
func (w *world) idle() {
	w.Helper()
	for now := time.Now(); w.ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		workers, err := protocol.Of(w.server.client).Workers(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		if !slices.ContainsFunc(workers, func(info protocol.WorkerInfo) bool {
			return info.ReportedLoad > 0 || info.LastHeartbeat.Before(now)
		}) {
			return
		}
	}
	w.Fatal("the workers do not become idle")
}

// clientWorker is a running program.
type clientWorker struct {
	w     *world
	name  string
	cmd   *exec.Cmd
	ended chan struct{}

	mu     sync.Mutex
	lines  []string
	errors []string
	more   chan struct{} // closed and replaced with each line
}

// work starts a worker. Zero options are 4 slots and 30 s to shut down, with a key that reaches everything.
func (w *world) work(name string, o workerOptions) *clientWorker { return w.workAs(name, workKey, o) }

func (w *world) workAs(name, key string, o workerOptions) *clientWorker {
	w.Helper()
	o.Name, o.Threads = name, w.language.threads
	if o.Namespaces == nil {
		o.Namespaces = []string{w.namespace}
	}
	if o.Concurrency == 0 {
		o.Concurrency = 4
	}
	if o.ShutdownSeconds == 0 {
		o.ShutdownSeconds = 30
	}
	text, err := json.Marshal(o)
	if err != nil {
		w.Fatal(err)
	}
	p := &clientWorker{w: w, name: name, ended: make(chan struct{}), more: make(chan struct{})}
	p.cmd = w.group.Command(w.program[0], w.program[1:]...)
	p.cmd.Env = slices.Concat(os.Environ(), w.env, []string{"TASKER_SERVER=" + w.server.URL(), "TASKER_API_KEY=" + key,
		"TASKER_TEST_WORKER=" + string(text), "GORACE=atexit_sleep_ms=10"})
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(bufio.NewScanner(out), &p.lines) })
	readers.Go(func() { p.read(bufio.NewScanner(errs), &p.errors) })
	go func() {
		readers.Wait()
		_ = p.cmd.Wait() // tests check its exit code
		close(p.ended)
	}()
	w.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if w.Failed() {
			w.Logf("worker %s says:\n%s\n%s", name, strings.Join(p.lines, "\n"), strings.Join(p.errors, "\n"))
		}
	})
	return p
}

// read collects lines.
func (p *clientWorker) read(lines *bufio.Scanner, to *[]string) {
	for lines.Scan() {
		p.mu.Lock()
		*to = append(*to, lines.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
}

// said reports whether the program has said a line, or has one in its log that contains the text.
func (p *clientWorker) said(text string) (bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.lines, text) ||
		slices.ContainsFunc(p.errors, func(l string) bool { return strings.Contains(l, text) }), p.more
}

// says waits until the program says a line.
func (p *clientWorker) says(text string) {
	p.w.Helper()
	for {
		ok, more := p.said(text)
		if ok {
			return
		}
		select {
		case <-more:
		case <-p.ended:
			if ok, _ := p.said(text); !ok {
				p.w.Fatalf("worker %s ended without saying %q", p.name, text)
			}
		case <-p.w.ctx.Done():
			p.w.Fatalf("worker %s does not say %q", p.name, text)
		}
	}
}

// silent fails the test if the program has said a line.
func (p *clientWorker) silent(text string) {
	p.w.Helper()
	if ok, _ := p.said(text); ok {
		p.w.Errorf("worker %s says %q", p.name, text)
	}
}

func (p *clientWorker) signal(s syscall.Signal) {
	p.w.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.w.Fatal(err)
	}
}

// ends waits for the end of the program, which has to be a good one.
func (p *clientWorker) ends() {
	p.w.Helper()
	select {
	case <-p.ended:
	case <-p.w.ctx.Done():
		p.w.Fatalf("worker %s does not end", p.name)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.w.Errorf("worker %s ended with %d", p.name, code)
	}
}

// stop ends the program in good order.
func (p *clientWorker) stop() {
	p.w.Helper()
	p.signal(syscall.SIGTERM)
	p.ends()
}
