// Package blobstore opens blob stores by their URLs. A directory is here; the packages below it are drivers of
// services.
package blobstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/kit/linked"
)

// Credentials sign requests to an S3-compatible service.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// S3 is the scheme, and the driver, of S3-compatible services.
const S3 = "s3"

// Services are the linked services, by the scheme of their URLs.
var Services linked.Set[OpenService]

// OpenService returns the store of a URL. It connects to nothing.
type OpenService func(rawURL string, c Credentials) (blob.Store, error)

// Check validates a URL and credentials without connecting. Errors show no secrets.
func Check(rawURL string, c Credentials) error {
	_, err := open(rawURL, c, true)
	return err
}

// Open opens the store of a URL: file:DIRECTORY, or s3://BUCKET[/PREFIX] with the parameters endpoint, region and
// path_style. It creates a missing directory. An unreachable S3-compatible service is no error.
func Open(rawURL string, c Credentials) (blob.Store, error) { return open(rawURL, c, false) }

func open(rawURL string, c Credentials, dry bool) (blob.Store, error) {
	scheme, rest, found := strings.Cut(rawURL, ":")
	switch {
	case found && scheme == "file":
		dir := strings.TrimPrefix(rest, "//")
		if dir == "" || strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' }) {
			return nil, errors.New("file: needs a directory, as in file:/var/lib/tasker/blobs")
		}
		if dry {
			return nil, nil
		}
		return OpenDirectory(dir)
	case found && scheme == S3:
		service, err := Services.Find(S3)
		if err != nil {
			return nil, err
		}
		return service(rawURL, c)
	}
	return nil, errors.New("must be file:DIRECTORY or s3://BUCKET")
}

// CheckKey refuses a text that is no key of a blob.Store.
func CheckKey(key string) error {
	ok := key != "" && len(key) <= blob.MaxKey && !strings.HasPrefix(key, "/") && !strings.HasSuffix(key, "/") &&
		!strings.Contains(key, "//")
	for _, r := range key {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '/')
	}
	if !ok {
		return fmt.Errorf("%q is not a key of a blob store", key)
	}
	return nil
}
