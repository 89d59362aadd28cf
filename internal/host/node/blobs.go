package node

import (
	"context"
	"io"
	"log/slog"

	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/engine"
)

// blobsOf adapts a blob store for the engine and logs failures; nil for none. Callers see no reasons, which may
// name hosts and files.
func blobsOf(s blob.Store, log *slog.Logger) engine.Blobs {
	if s == nil {
		return nil
	}
	return &loggedBlobs{s, log}
}

type loggedBlobs struct {
	store blob.Store
	log   *slog.Logger
}

func (l *loggedBlobs) failed(ctx context.Context, verb, key string, err error) error {
	if err != nil {
		l.log.WarnContext(ctx, "the blob store does not work", "verb", verb, "key", key, "error", err)
	}
	return err
}

func (l *loggedBlobs) Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error {
	return l.failed(ctx, "put", key, l.store.Put(ctx, key, content, size, sum))
}

func (l *loggedBlobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := l.store.Get(ctx, key)
	return content, l.failed(ctx, "get", key, err)
}

func (l *loggedBlobs) Delete(ctx context.Context, key string) error {
	return l.failed(ctx, "delete", key, l.store.Delete(ctx, key))
}
