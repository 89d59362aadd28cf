// Package s3test gives tests a real S3-compatible server.
package s3test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Variable names the server that tests share. Its value is a URL like http://KEY:SECRET@host:port/BUCKET.
const Variable = "TASKER_TEST_S3"

const (
	accessKeyID     = "tasker-test"
	secretAccessKey = "tasker-test-secret"
	bucket          = "tasker-test"
)

// Server is an S3-compatible server with one bucket.
type Server struct {
	Endpoint        string // http://host:port
	AccessKeyID     string
	SecretAccessKey string
	Bucket          string

	*testserver.Server // nil for one that Variable names
}

// Shared returns the shared server. A test that stops the server uses Start.
func Shared(t testing.TB) *Server {
	t.Helper()
	if named := os.Getenv(Variable); named != "" {
		s, err := parse(named)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, err := shared()
	testserver.OrSkip(t, err)
	return s
}

// shared is the server of this process, started at first use. It is stopped when the process is gone, so no test closes
// it.
var shared = sync.OnceValues(Launch)

// Start starts a server for one test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := Launch()
	testserver.OrSkip(t, err)
	s.CloseWith(t)
	return s
}

func parse(named string) (*Server, error) {
	u, err := url.Parse(named)
	if err != nil || u.Host == "" || u.User == nil {
		return nil, fmt.Errorf("%s must be a URL like http://KEY:SECRET@host:port/BUCKET", Variable)
	}
	secret, _ := u.User.Password()
	return &Server{Endpoint: u.Scheme + "://" + u.Host, AccessKeyID: u.User.Username(), SecretAccessKey: secret,
		Bucket: strings.Trim(u.Path, "/")}, nil
}

// DSN is the value of Variable for a server.
func (s *Server) DSN() string {
	scheme, host, _ := strings.Cut(s.Endpoint, "://")
	return scheme + "://" + s.AccessKeyID + ":" + s.SecretAccessKey + "@" + host + "/" + s.Bucket
}

// URL returns a unique part of the bucket, for blobs.url.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	return "s3://" + s.Bucket + "/test-" + strings.ToLower(rand.Text()[:12]) + "?endpoint=" + s.Endpoint
}

// Launch starts a server. The caller closes it.
func Launch() (*Server, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	home, err := testserver.NewHome("s3", "kill -9 $(cat pid)")
	if err != nil {
		return nil, err
	}
	// The bucket is a directory. Metadata is in files beside it, because not every file system can hold it.
	for _, dir := range []string{"data/" + bucket, "more"} {
		if err := os.MkdirAll(filepath.Join(home.Dir, dir), 0o777); err != nil {
			return nil, err
		}
	}
	open := exec.Command("chmod", "-R", "a+rwX", filepath.Join(home.Dir, "data"), filepath.Join(home.Dir, "more"))
	if err := open.Run(); err != nil {
		return nil, err
	}
	s := &Server{AccessKeyID: accessKeyID, SecretAccessKey: secretAccessKey, Bucket: bucket,
		Server: &testserver.Server{Name: "versitygw", Home: home, Kill: syscall.SIGKILL,
			Program: func(port int) (*exec.Cmd, error) {
				return home.Command(program, "--quiet", "--port", "127.0.0.1:"+strconv.Itoa(port), "--access", accessKeyID,
					"--secret", secretAccessKey, "posix", "--sidecar", filepath.Join(home.Dir, "more"),
					filepath.Join(home.Dir, "data")), nil
			},
			Greet: greet}}
	if err := s.Begin(); err != nil {
		return nil, err
	}
	s.Endpoint = "http://127.0.0.1:" + strconv.Itoa(s.Port())
	return s, nil
}

// greet accepts any answer: without a signature it is a refusal.
func greet(ctx context.Context, port int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(port)+"/", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
