package scenario_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

type blobs struct {
	mu      sync.Mutex
	objects map[string]string
	down    bool
}

func (b *blobs) use(fn func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return errors.New("connection refused")
	}
	if b.objects == nil {
		b.objects = map[string]string{}
	}
	return fn()
}

func (b *blobs) Put(_ context.Context, key string, content io.ReadSeeker, _ int64, _ [32]byte) error {
	raw, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return b.use(func() error {
		b.objects[key] = string(raw)
		return nil
	})
}

func (b *blobs) Get(_ context.Context, key string) (content io.ReadCloser, err error) {
	err = b.use(func() error {
		text, found := b.objects[key]
		if !found {
			return fs.ErrNotExist
		}
		content = io.NopCloser(strings.NewReader(text))
		return nil
	})
	return content, err
}

func (b *blobs) Delete(_ context.Context, key string) error {
	return b.use(func() error {
		delete(b.objects, key)
		return nil
	})
}

func (in *interpreter) sendLarge(a *args, key string) (*task.LargeResult, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	_, ref, err := in.lease(a)
	if err != nil {
		return nil, err
	}
	n := 2
	if err := a.number(key, &n); err != nil {
		return nil, err
	}
	ref.Worker = h.no
	content := `"` + strings.Repeat("x", n-2) + `"`
	return in.engine.SendLargeResult(in.ctx, ref, engine.LargeContent{Content: strings.NewReader(content),
		Bytes: int64(n), Sum: sha256.Sum256([]byte(content))})
}

func (in *interpreter) send(a *args) ([]string, error) {
	_, err := in.sendLarge(a, "bytes")
	return nil, err
}

func (in *interpreter) read(a *args) ([]string, error) {
	name, err := a.place(0, "the step")
	if err != nil {
		return nil, err
	}
	id, r, err := in.target(name)
	if err != nil {
		return nil, err
	}
	content, of, err := in.engine.LargeResult(in.ctx, id, r.ID)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(content)
	if err != nil || int64(len(raw)) != of.Bytes {
		return nil, fmt.Errorf("read %d of %d bytes: %w", len(raw), of.Bytes, err)
	}
	return []string{fmt.Sprintf("%d bytes", len(raw))}, nil
}

func (in *interpreter) showBlobs(a *args) ([]string, error) {
	b := in.world.blobs
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(a.places) > 0 {
		switch a.places[0] {
		case "down", "up":
			b.down = a.places[0] == "down"
		case "lost":
			clear(b.objects)
		default:
			return nil, badScript("blobs down, up or lost")
		}
	}
	return []string{fmt.Sprintf("%d objects", len(b.objects))}, nil
}
