// Package s3 links the store of large results in a bucket, s3://BUCKET in blobs.url, into a program with the embedded
// engine:
//
//	import _ "github.com/taskerhq/tasker/embedded/s3"
package s3

import (
	"github.com/taskerhq/tasker/internal/store/blobstore"
	"github.com/taskerhq/tasker/internal/store/blobstore/s3"
)

func init() { blobstore.Services.Register(blobstore.S3, s3.Open) }
