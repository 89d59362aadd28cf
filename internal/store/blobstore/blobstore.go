// Package blobstore has the blob stores of a server: a directory, and a bucket of an S3-compatible service.
package blobstore

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/taskerhq/tasker/blob"
)

// Credentials sign requests to an S3-compatible service.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

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
	case found && scheme == "s3":
		return openS3(rawURL, c)
	}
	return nil, errors.New("must be file:DIRECTORY or s3://BUCKET")
}

func openS3(rawURL string, c Credentials) (blob.Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	if u.User != nil {
		return nil, errors.New("must not have credentials: set blobs.access_key_id and blobs.secret_access_key")
	}
	b := Bucket{Name: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: "us-east-1", Credentials: c}
	pathStyle := ""
	for name, values := range u.Query() {
		if len(values) != 1 {
			return nil, fmt.Errorf("the parameter %s is given several times", name)
		}
		switch name {
		case "endpoint":
			b.Endpoint = strings.TrimRight(values[0], "/")
		case "region":
			b.Region = values[0]
		case "path_style":
			pathStyle = values[0]
		default:
			return nil, fmt.Errorf("has an unknown parameter %q; known are endpoint, region and path_style", name)
		}
	}
	switch pathStyle {
	case "":
		b.PathStyle = b.Endpoint != ""
	case "true", "false":
		b.PathStyle = pathStyle == "true"
	default:
		return nil, errors.New("path_style must be true or false")
	}
	return NewBucket(b)
}

func keyFault(key string) error {
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
