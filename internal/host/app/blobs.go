package app

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/host/telemetry"
)

// counted is a blob store with request metrics; nil for none.
func counted(s blob.Store, in *telemetry.Blobs) blob.Store {
	if s == nil {
		return nil
	}
	return &countedBlobs{s, in}
}

type countedBlobs struct {
	store blob.Store
	in    *telemetry.Blobs
}

func (c *countedBlobs) count(verb string, err error) error {
	switch {
	case err == nil:
		c.in.Requested(verb, "ok")
	case errors.Is(err, fs.ErrNotExist) && verb == "get":
		c.in.Requested(verb, "missing")
	default:
		c.in.Requested(verb, "failed")
	}
	return err
}

// Put implements blob.Store.
func (c *countedBlobs) Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error {
	return c.count("put", c.store.Put(ctx, key, content, size, sum))
}

// Get implements blob.Store.
func (c *countedBlobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := c.store.Get(ctx, key)
	return content, c.count("get", err)
}

// Delete implements blob.Store.
func (c *countedBlobs) Delete(ctx context.Context, key string) error {
	return c.count("delete", c.store.Delete(ctx, key))
}
