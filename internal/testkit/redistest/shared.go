package redistest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Variable names the server that tests share. Its value is a URL like
// redis://:password@host:port/0.
const Variable = "TASKER_TEST_REDIS"

// Shared returns the URL of the shared server, and a unique prefix for all keys of the test, which are deleted when t
// ends, also where a brace precedes it, as in hash tags. A test that flushes the server, or counts all keys, uses
// Start.
func Shared(t testing.TB) (url, prefix string) {
	t.Helper()
	url = os.Getenv(Variable)
	if url == "" {
		s, err := shared()
		testserver.OrSkip(t, err)
		url = s.URL()
	}
	prefix = "test_" + strings.ToLower(rand.Text()[:12]) + ":"
	if err := withConn(url, func(*conn) error { return nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := withConn(url, func(c *conn) error {
			return errors.Join(c.deleteAll(prefix), c.deleteAll("{"+strings.TrimSuffix(prefix, ":")))
		})
		if err != nil {
			t.Error(err)
		}
	})
	return url, prefix
}

// shared is the server of this process, started at first use. It is stopped when the process is gone, so no test closes
// it.
var shared = sync.OnceValues(func() (*Server, error) { return Launch() })

func withConn(url string, do func(*conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
	defer cancel()
	c, err := dial(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer c.close() //nolint:errcheck // all has been answered
	return do(c)
}
