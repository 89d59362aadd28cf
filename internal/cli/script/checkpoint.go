package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/taskerhq/tasker/worker"
)

// maxCheckpoint bounds the bytes read of a file, above any server's limit.
const maxCheckpoint = 16 << 20

// checkpointFile is a program's file for checkpoints.
type checkpointFile struct {
	job  *worker.Job
	dir  string
	path string
	lock *os.File // of dir; nil for none

	seen os.FileInfo // of the last sent checkpoint
	sent []byte
}

// newCheckpointFile returns the file for a step, which does not exist yet: the program makes it. Its directory belongs
// to the step alone, so that the program can rename another file into place.
func newCheckpointFile(job *worker.Job) (*checkpointFile, error) {
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the checkpoint: %w", err)
	}
	return &checkpointFile{job: job, dir: dir, path: filepath.Join(dir, "checkpoint.json"), lock: own(dir)}, nil
}

// watch sends new checkpoints until stop, which waits for the last look.
func (c *checkpointFile) watch(every time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				c.send()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// send stores a new, complete document. A failure is left to the next look: the program runs on without a
// checkpoint.
func (c *checkpointFile) send() {
	info, err := os.Stat(c.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCheckpoint || c.same(info) {
		return
	}
	f, err := os.Open(c.path)
	if err != nil {
		return
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxCheckpoint))
	content = bytes.TrimSpace(content)
	if err != nil || !json.Valid(content) {
		return
	}
	if !bytes.Equal(content, c.sent) && c.job.Checkpoint(json.RawMessage(content)) != nil {
		return
	}
	c.seen, c.sent = info, content
}

func (c *checkpointFile) same(now os.FileInfo) bool {
	return c.seen != nil && os.SameFile(c.seen, now) && c.seen.Size() == now.Size() &&
		c.seen.ModTime().Equal(now.ModTime())
}

func (c *checkpointFile) remove() {
	_ = os.RemoveAll(c.dir)
	_ = c.lock.Close() // fine for nil
}
