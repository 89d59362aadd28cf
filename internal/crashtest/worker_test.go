//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/taskerhq/tasker"
)

// work runs workers of the SDK one after the other until stop is closed. Each
// ends in good order after a while and gives back what it holds.
func work(ctx context.Context, stop <-chan struct{}, client *tasker.Client, h *handlers, name string, rng *rand.Rand) error {
	for round := 0; ; round++ {
		life, end := context.WithTimeout(ctx, 5*time.Second+time.Duration(rng.Int64N(int64(10*time.Second))))
		w := tasker.NewWorker(client, &tasker.WorkerOptions{
			Name: fmt.Sprintf("%s-%d", name, round), Concurrency: 4 + rng.IntN(20), PollWait: 2 * time.Second,
			DrainTimeout: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
		h.register(w, name)
		ended := make(chan struct{})
		go func() {
			// That a result could not be reported is no fault here: the server may
			// be down while the worker says good-bye.
			_ = w.Run(life)
			close(ended)
		}()
		select {
		case <-ended:
		case <-stop:
		}
		end()
		<-ended
		select {
		case <-stop:
			return nil
		default:
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}

// program is `tasker worker` in a process of its own, which is killed too.
type program struct {
	path string
	url  string
	log  *os.File

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	kills int
}

// start starts the process. Its handler echoes what it gets.
func (p *program) start() error {
	cmd := exec.Command(p.path, "worker", "--server", p.url, "--name", "program", "--concurrency", "2",
		"--handler", "foreign=sleep 0.05; cat")
	cmd.Stderr = p.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended does not matter: it is killed
		close(ended)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.ended = cmd, ended
	return nil
}

// end ends the process by a signal and waits for it.
func (p *program) end(sig syscall.Signal) {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // an error means that it is gone
	<-ended
}

// run kills and restarts the process every few seconds until stop is closed.
func (p *program) run(ctx context.Context, stop <-chan struct{}, rng *rand.Rand) error {
	for {
		if err := p.start(); err != nil {
			return err
		}
		life := time.NewTimer(time.Second + time.Duration(rng.Int64N(int64(6*time.Second))))
		select {
		case <-life.C:
			p.end(syscall.SIGKILL)
			p.kills++
		case <-stop:
			life.Stop()
			p.end(syscall.SIGTERM)
			return nil
		case <-ctx.Done():
			life.Stop()
			p.end(syscall.SIGKILL)
			return ctx.Err()
		}
	}
}
