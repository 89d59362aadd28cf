package blobstore_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/blob"
	_ "github.com/taskerhq/tasker/embedded/s3"
	"github.com/taskerhq/tasker/internal/store/blobstore"
	"github.com/taskerhq/tasker/internal/testkit/s3test"
)

var keys = blobstore.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}

// conform is the contract of every blob.Store.
func conform(t *testing.T, s blob.Store) {
	t.Helper()
	put := func(key, content string) error {
		return s.Put(t.Context(), key, strings.NewReader(content), int64(len(content)), sha256.Sum256([]byte(content)))
	}
	get := func(key string) string {
		t.Helper()
		r, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	absent := func(key string) {
		t.Helper()
		if _, err := s.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("get of %s: %v, not that it does not exist", key, err)
		}
	}
	absent("none/1-a")
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<20))
	for key, content := range map[string]string{"a/1-b": `{"a":1}`, "a/2-c": "ä\x00\r\n", "b/1-d": large} {
		for range 2 { // again with the same content
			if err := put(key, content); err != nil {
				t.Fatal(key, err)
			}
		}
		if got := get(key); got != content {
			t.Errorf("%s: got %d bytes, put %d", key, len(got), len(content))
		}
	}
	// a reader that was read before
	r := strings.NewReader("again")
	_, _ = io.ReadAll(r)
	if err := s.Put(t.Context(), "c/1-a", r, 5, sha256.Sum256([]byte("again"))); err != nil || get("c/1-a") != "again" {
		t.Error("a reader at its end:", err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), "a/1-b"); err != nil {
			t.Fatal(err)
		}
	}
	absent("a/1-b")
	if get("a/2-c") != "ä\x00\r\n" {
		t.Error("a neighbour is gone")
	}
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../../b", ".incoming/a", "a b",
		strings.Repeat("a", 300)} {
		if put(key, "1") == nil || s.Delete(t.Context(), key) == nil {
			t.Errorf("the key %q was taken", key)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	s, err := blobstore.Open("file:"+dir, blobstore.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	conform(t, s)
	var together sync.WaitGroup
	for range 8 {
		together.Go(func() {
			for range 5 {
				err := s.Put(t.Context(), "d/1-a", strings.NewReader("1"), 1, [32]byte{})
				if err := errors.Join(err, s.Delete(t.Context(), "d/1-a")); err != nil {
					t.Error("put and delete together:", err)
				}
			}
		})
	}
	together.Wait()
	if err := s.Put(t.Context(), "e/1-a", strings.NewReader("12"), 3, [32]byte{}); err == nil {
		t.Error("an object with fewer bytes than announced was taken")
	}
	left, err := os.ReadDir(filepath.Join(dir, ".incoming"))
	if err != nil || len(left) > 0 {
		t.Error("left behind:", left, err)
	}
}

// Unfinished files of a killed process are removed, those of another process are not.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := blobstore.OpenDirectory(dir); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(dir, ".incoming", "1"), filepath.Join(dir, ".incoming", "2")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if _, err := blobstore.OpenDirectory(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old one is still there:", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("the young one is gone:", err)
	}
}

func TestS3(t *testing.T) {
	t.Parallel()
	s3 := s3test.Shared(t)
	good := blobstore.Credentials{AccessKeyID: s3.AccessKeyID, SecretAccessKey: s3.SecretAccessKey}
	s, err := blobstore.Open(s3.URL(t), good)
	if err != nil {
		t.Fatal(err)
	}
	conform(t, s)
	put := func(s blob.Store, sum [32]byte) error {
		return s.Put(t.Context(), "e/1-a", strings.NewReader("12"), 2, sum)
	}
	bad := good
	bad.SecretAccessKey = "wrong"
	foreign, err := blobstore.Open(s3.URL(t), bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(foreign, sha256.Sum256([]byte("12"))); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Error("with a wrong secret:", err)
	}
	gone, err := blobstore.Open("s3://no-such-bucket?endpoint="+s3.Endpoint, good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Get(t.Context(), "a/1-b"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error("a bucket that does not exist is not an object that does not exist:", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"file:/var/lib/blobs", "file:blobs", "file:///a", "s3://bucket", "s3://b/prefix/p",
		"s3://b?endpoint=http://localhost:9000&region=eu-west-1&path_style=false"} {
		if err := blobstore.Check(good, keys); err != nil {
			t.Error(good, err)
		}
	}
	for bad, want := range map[string]string{
		"": "must be", "bucket": "must be", "ftp://a": "must be", "file:": "directory", "file://": "directory",
		"s3://":      "bucket",
		"s3://UPPER": "bucket", "s3://a:b@c": "credentials", "s3://a?x=1": "unknown parameter",
		"s3://a?region=": "region", "s3://a?path_style=1": "path_style", "s3://a/b c": "prefix",
		"s3://a?endpoint=localhost": "endpoint", "s3://a?endpoint=ftp://b": "endpoint",
		"s3://a?endpoint=http://u:p@b": "endpoint", "s3://a?region=a&region=b": "several times",
	} {
		if err := blobstore.Check(bad, keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
	err := blobstore.Check("s3://a", blobstore.Credentials{})
	if err == nil || !strings.Contains(err.Error(), "access_key") {
		t.Error("without keys:", err)
	}
}
