package rabbittest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

const user = "tasker"

// Server is a RabbitMQ of one test or process. Its methods are safe for concurrent use.
type Server struct {
	server   *testserver.Server
	password string
	cookie   string
	dist     int // the port of Erlang's distribution
}

// Start starts a server that ends with t. It persists durable content. Settings are terms of its application rabbit,
// such as "{consumer_timeout,10000}".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Launch(settings...)
	testserver.OrSkip(t, err)
	s.server.CloseWith(t)
	return s
}

// config is in Erlang terms: translating the newer format takes two seconds per start.
const config = `[{rabbit, [{tcp_listeners, [{"127.0.0.1", %d}]}, {loopback_users, []},
  {default_user, <<"%s">>}, {default_pass, <<"%s">>}, {disk_free_limit, 1000000},
  {log, [{console, [{enabled, true}]}, {file, [{file, false}]}]}%s]},
 {rabbitmq_management, [{tcp_config, [{port, %d}, {ip, "127.0.0.1"}]}]}].
`

// Launch is Start without a test: the caller closes the server. It ends with the process at the latest.
func Launch(settings ...string) (*Server, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	home, err := testserver.NewHome("rabbitmq", `kill -KILL "$(cat pid)"`)
	if err != nil {
		return nil, err
	}
	s := &Server{password: rand.Text(), cookie: rand.Text()}
	if s.dist, err = testserver.FreePort(); err != nil {
		return nil, errors.Join(err, home.Close())
	}
	s.server = &testserver.Server{
		Name: "RabbitMQ", Home: home, Kill: os.Kill,
		Program: func(port int) (*exec.Cmd, error) { return s.command(program, port, settings) },
		Greet:   s.greet,
	}
	if err := s.server.Begin(); err != nil {
		return nil, err
	}
	return s, nil
}

// command is the server as a process that serves a port, with its files in its home.
func (s *Server) command(program string, port int, settings []string) (*exec.Cmd, error) {
	home, more := s.server.Home, ""
	for _, setting := range settings {
		more += ",\n  " + setting
	}
	for name, content := range map[string]string{
		"rabbitmq.config": fmt.Sprintf(config, port, user, s.password, more, managementPort(port)),
		"enabled_plugins": "[rabbitmq_management].",
	} {
		if _, err := home.Write(name, content); err != nil {
			return nil, err
		}
	}
	cookie := filepath.Join(home.Dir, ".erlang.cookie")
	if _, err := os.Stat(cookie); err != nil {
		if _, err := home.Write(".erlang.cookie", s.cookie); err != nil {
			return nil, err
		}
	}
	cmd := home.Command(program)
	cmd.Env = s.environment(cmd.Env)
	return cmd, nil
}

// environment keeps the server to its home and to few threads. A fixed node name and distribution port avoid epmd, a
// daemon that would outlive it.
func (s *Server) environment(inherited []string) []string {
	in := func(name string) string { return filepath.Join(s.server.Home.Dir, name) }
	return append(clean(inherited), "HOME="+s.server.Home.Dir,
		"RABBITMQ_NODENAME=tasker@localhost",
		"RABBITMQ_MNESIA_BASE="+in("data"), "RABBITMQ_LOG_BASE="+in("logs"), "RABBITMQ_LOGS=-",
		"RABBITMQ_CONFIG_FILE="+in("rabbitmq.config"), "RABBITMQ_CONF_ENV_FILE="+in("none"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+in("none.config"), "RABBITMQ_ENABLED_PLUGINS_FILE="+in("enabled_plugins"),
		"RUNNING_UNDER_SYSTEMD=true", // the script becomes the server instead of waiting for it
		"ERL_EPMD_PORT=1",            // an unused port
		fmt.Sprintf("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none "+
			"-sname tasker@localhost -start_epmd false -erl_epmd_port %d "+
			"-kernel inet_dist_use_interface {127,0,0,1}", s.dist))
}

// clean removes variables that would lead the server, or Erlang, out of its home.
func clean(environment []string) []string {
	var kept []string
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "RABBITMQ_") && !strings.HasPrefix(name, "ERL_") && name != "HOME" &&
			name != "NOTIFY_SOCKET" {
			kept = append(kept, v)
		}
	}
	return kept
}

// greet reports whether the server accepts clients by AMQP and management.
func (s *Server) greet(ctx context.Context, port int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("dial RabbitMQ: %w", err)
	}
	defer conn.Close() //nolint:errcheck // all has been said
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(conn, "AMQP\x00\x00\x09\x01"); err != nil {
		return fmt.Errorf("greet RabbitMQ: %w", err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil { // the first byte of connection.start
		return fmt.Errorf("read from RabbitMQ: %w", err)
	}
	_, err = call(ctx, s.url(port), http.MethodGet, "/api/vhosts", nil)
	return err
}

// URL returns the URL of the virtual host "/", with the administrator's password. It is stable over restarts.
func (s *Server) URL() string { return s.url(s.Port()) }

func (s *Server) url(port int) string {
	u := url.URL{Scheme: "amqp", User: url.UserPassword(user, s.password), Host: fmt.Sprintf("127.0.0.1:%d", port),
		Path: "/"}
	return u.String()
}

// Management returns the URL of the HTTP API, with the administrator's password.
func (s *Server) Management() string {
	u := url.URL{Scheme: "http", User: url.UserPassword(user, s.password),
		Host: fmt.Sprintf("127.0.0.1:%d", managementPort(s.Port()))}
	return u.String()
}

// Port returns the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.server.Port() }

// Stop shuts the server down and returns when it is down.
func (s *Server) Stop() error { return s.server.Stop(syscall.SIGTERM) }

// Kill calls Sync, kills the server with SIGKILL and returns when it is gone.
func (s *Server) Kill() error {
	if err := s.Sync(); err != nil {
		return err
	}
	return s.KillNow()
}

// Sync makes the server write its list of quorum queues, and its journal of declared queues. RabbitMQ 3.10 writes the
// list within minutes, and sometimes the journal after its answer: it loses a queue if it is killed before.
func (s *Server) Sync() error {
	_, err := s.Eval("begin mnesia:sync_log(), [dets:sync(T) || T <- dets:all()] end")
	return err
}

// KillNow is Kill without Sync.
func (s *Server) KillNow() error { return s.server.Stop(os.Kill) }

// Restart stops the server if it is up, and returns when it answers again.
func (s *Server) Restart() error { return s.server.Restart(syscall.SIGTERM) }

// Close stops the server and removes it.
func (s *Server) Close() error { return s.server.Close() }
