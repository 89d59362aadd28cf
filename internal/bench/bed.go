package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
)

// bed is the system under test, with a client to it.
type bed struct {
	opts   Options
	client *tasker.Client
	server *exec.Cmd // nil in process
	done   *counter
}

// counter is a Backend that counts the results acknowledged as complete.
type counter struct {
	tasker.Backend
	settled atomic.Int64
	refused atomic.Int64
}

// Settle implements tasker.WorkerBackend.
func (c *counter) Settle(ctx context.Context, req tasker.SettleRequest) ([]tasker.SettleAnswer, error) {
	answers, err := c.Backend.Settle(ctx, req)
	var done, refused int64
	for _, a := range answers {
		if a.Error != nil {
			refused++
		} else if a.State == tasker.StepComplete {
			done++
		}
	}
	c.settled.Add(done)
	c.refused.Add(refused)
	return answers, err
}

func newBed(ctx context.Context, opts Options) (*bed, error) {
	b := &bed{opts: opts}
	var client *tasker.Client
	var err error
	if opts.Via == ViaHTTP {
		var url string
		if url, err = b.serve(ctx); err == nil {
			client, err = tasker.Dial(url, nil)
		}
	} else {
		client, err = embedded.Open(ctx, opts.DB, nil)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	b.done = &counter{Backend: client.Backend}
	b.client = tasker.NewClient(b.done)
	return b, nil
}

// serve starts the server in a process of its own and returns its URL.
func (b *bed) serve(ctx context.Context) (string, error) {
	b.server = exec.CommandContext(ctx, b.opts.Executable, "serve", "--db", b.opts.DB, "--listen", "127.0.0.1:0")
	b.server.Cancel = func() error { return b.server.Process.Signal(syscall.SIGTERM) }
	b.server.Stderr = os.Stderr //nolint:forbidigo // what the server complains about belongs here
	out, err := b.server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := b.server.Start(); err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "http://"); ok {
			url, _, _ := strings.Cut(rest, " ")
			return "http://" + url, nil
		}
	}
	return "", fmt.Errorf("the server said nothing of where it listens")
}

func (b *bed) close() {
	if b.client != nil {
		_ = b.client.Close()
	}
	if b.server != nil && b.server.Process != nil {
		_ = b.server.Process.Signal(syscall.SIGTERM)
		_ = b.server.Wait()
	}
}

// pids are the processes that take part.
func (b *bed) pids() []int {
	pids := []int{os.Getpid()}
	if b.server != nil {
		pids = append(pids, b.server.Process.Pid)
	}
	return pids
}

// work runs workers for a handler until the function returned is called.
func (b *bed) work(ctx context.Context, handler string, h tasker.Handler) func() error {
	ctx, cancel := context.WithCancel(ctx)
	w := tasker.NewWorker(b.client, &tasker.WorkerOptions{Name: "bench", Concurrency: b.opts.Workers})
	w.Handle(handler, h)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}

// until waits until as many tasks have been settled.
func (b *bed) until(ctx context.Context, settled int64) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for b.done.settled.Load() < settled {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d settled: %w", b.done.settled.Load(), settled, ctx.Err())
		}
	}
	return nil
}
