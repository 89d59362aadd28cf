// Package s3 is a blob store in a bucket of an S3-compatible service.
package s3

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/store/blobstore"
)

// Open returns the store of s3://BUCKET[/PREFIX] with the parameters endpoint, region and path_style. It connects to
// nothing. Errors show no secrets.
func Open(rawURL string, c blobstore.Credentials) (blob.Store, error) {
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
	s, err := NewBucket(b)
	if err != nil {
		return nil, err // a nil *Store in the interface would not be nil
	}
	return s, nil
}
