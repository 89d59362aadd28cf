package redistest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Server is a Redis that belongs to one test or process. Its methods can be
// called from several goroutines.
type Server struct {
	server   *testserver.Server
	password string
}

// Start starts a server that ends with t. It keeps everything in memory and restarts empty; settings like
// "appendonly=yes" override anything.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Launch(settings...)
	testserver.OrSkip(t, err)
	s.server.CloseWith(t)
	return s
}

// config is redis.conf. It sets a password, because every user of the machine reaches the port, and a client can make
// Redis write files.
const config = `bind 127.0.0.1
port %d
dir %s
requirepass %s
daemonize no
logfile ""
save ""
appendonly no
`

// Launch is Start without a test: the caller closes the server. It ends with the process at the latest.
func Launch(settings ...string) (*Server, error) { return launch(config, rand.Text(), settings) }

// launch is Launch with another redis.conf, a password, and arguments after redis.conf.
func launch(config, password string, settings []string, args ...string) (*Server, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	home, err := testserver.NewHome("redis", `kill -KILL "$(cat pid)"`)
	if err != nil {
		return nil, err
	}
	s := &Server{password: password}
	s.server = &testserver.Server{
		Name: "Redis", Home: home, Kill: os.Kill,
		Program: func(port int) (*exec.Cmd, error) {
			lines := fmt.Sprintf(config, port, home.Dir, s.password)
			for _, setting := range settings {
				lines += strings.Replace(setting, "=", " ", 1) + "\n"
			}
			path, err := home.Write("redis.conf", lines)
			if err != nil {
				return nil, err
			}
			return home.Command(program, append([]string{path}, args...)...), nil
		},
		Greet: func(ctx context.Context, port int) error {
			c, err := dial(ctx, s.url(port))
			if err != nil {
				return err
			}
			return c.close()
		},
	}
	if err := s.server.Begin(); err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the server's URL, with its password. It is stable over restarts.
func (s *Server) URL() string { return s.url(s.Port()) }

func (s *Server) url(port int) string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("", s.password), Host: fmt.Sprintf("127.0.0.1:%d", port)}
	return u.String()
}

// Port returns the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.server.Port() }

// Stop shuts the server down and returns when it is down. The server persists data as its settings say.
func (s *Server) Stop() error { return s.server.Stop(syscall.SIGTERM) }

// Kill kills the server with SIGKILL and returns when it is gone.
func (s *Server) Kill() error { return s.server.Stop(os.Kill) }

// Flush deletes everything that the server has.
func (s *Server) Flush() error {
	return withConn(s.URL(), func(c *conn) error {
		_, err := c.do("FLUSHALL")
		return err
	})
}

// Restart stops the server if it is up, and returns when it answers again.
func (s *Server) Restart() error { return s.server.Restart(syscall.SIGTERM) }

// Close stops the server and removes it.
func (s *Server) Close() error { return s.server.Close() }

// Do runs a command and returns its answer: a string, an int64, nil, or a list of these. It does not use Tasker's
// client.
func Do(url string, command ...string) (answer any, err error) {
	err = withConn(url, func(c *conn) error {
		answer, err = c.do(command...)
		return err
	})
	return answer, err
}
