//go:build unix

package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Worker is `tasker worker`, in successive processes. Its handler "foreign" echoes its input.
type Worker struct {
	Program string // path of the binary
	URL     string // of the server
	Name    string
	Log     *os.File
	Group   *Group

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	kills int
}

// Run kills and restarts the process every one to seven seconds until stop is closed. A kill loses its steps; the last
// process ends gracefully.
func (w *Worker) Run(ctx context.Context, stop <-chan struct{}, rng *rand.Rand) error {
	for {
		if err := w.start(); err != nil {
			return err
		}
		life := time.NewTimer(time.Second + time.Duration(rng.Int64N(int64(6*time.Second))))
		select {
		case <-life.C:
			w.end(syscall.SIGKILL)
			w.mu.Lock()
			w.kills++
			w.mu.Unlock()
		case <-stop:
			life.Stop()
			w.end(syscall.SIGTERM)
			return nil
		case <-ctx.Done():
			life.Stop()
			w.end(syscall.SIGKILL)
			return ctx.Err()
		}
	}
}

// Kills returns how often Run killed the process.
func (w *Worker) Kills() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kills
}

// start starts a process. Its handler takes 50 ms, long enough for a kill.
func (w *Worker) start() error {
	cmd := w.Group.Command(w.Program, "worker", "--server", w.URL, "--name", w.Name, "--concurrency", "2",
		"--namespace", "crash", "--handler", "foreign=sleep 0.05; cat")
	cmd.Stderr = w.Log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, so the exit code does not matter
		close(ended)
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cmd, w.ended = cmd, ended
	return nil
}

func (w *Worker) end(sig syscall.Signal) {
	w.mu.Lock()
	cmd, ended := w.cmd, w.ended
	w.mu.Unlock()
	_ = cmd.Process.Signal(sig) // an error means that it is gone
	<-ended
}
