package config

import (
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/store/blobstore"
)

// Blobs names the store of results above engine.limits.payload_bytes, the same for all nodes of a database.
type Blobs struct {
	// URL is file:DIRECTORY, or s3://BUCKET[/PREFIX] with the parameters endpoint (of an S3-compatible service),
	// region and path_style.
	URL             string
	AccessKeyID     string
	SecretAccessKey string
}

// Open opens the store; nil for none. Errors contain no secrets.
func (b *Blobs) Open() (blob.Store, error) {
	if b.URL == "" {
		return nil, nil
	}
	s, err := blobstore.Open(b.URL, b.credentials())
	if err != nil {
		return nil, fmt.Errorf("blobs.url: %w", err)
	}
	return s, nil
}

func (b *Blobs) credentials() blobstore.Credentials {
	return blobstore.Credentials{AccessKeyID: b.AccessKeyID, SecretAccessKey: b.SecretAccessKey}
}

func checkBlobs(b *Blobs) (key string, err error) {
	switch {
	case b.URL != "":
		return "blobs.url", blobstore.Check(b.URL, b.credentials())
	case b.AccessKeyID != "" || b.SecretAccessKey != "":
		return "blobs.url", errors.New("is missing, but there are credentials for it")
	}
	return "blobs.url", nil
}
