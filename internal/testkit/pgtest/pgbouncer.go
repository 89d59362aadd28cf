package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// bouncerConfig shares few connections among many clients, so that consecutive transactions of a client use different
// ones.
const bouncerConfig = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
server_reset_query_always = 1
`

// Bouncer returns the path of the program pgbouncer.
func Bouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("PgBouncer is %w", testserver.ErrMissing)
}

// PgBouncer starts a PgBouncer in transaction mode before the server of a DSN, and returns the DSN of the same database
// through it, with pgbouncer=true. It ends with t.
func PgBouncer(t testing.TB, serverDSN string) string {
	t.Helper()
	program, err := Bouncer()
	testserver.OrSkip(t, err)
	behind, err := url.Parse(serverDSN)
	if err != nil || behind.User == nil || behind.Port() == "" {
		t.Fatal("the DSN of the test server has to be a URL with user, host and port")
	}
	home, err := testserver.NewHome("pgbouncer", `kill -KILL "$(cat pid)"`)
	testserver.OrSkip(t, err)
	through := func(port int) string {
		u := *behind
		u.Host = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
		return with(u.String(), "pgbouncer", "true")
	}
	s := &testserver.Server{
		Name: "PgBouncer", Home: home, Kill: os.Kill,
		Program: func(port int) (*exec.Cmd, error) { return bouncerCommand(home, program, behind, port) },
		Greet:   func(ctx context.Context, port int) error { return greet(ctx, through(port)) },
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	s.CloseWith(t)
	return through(s.Port())
}

func bouncerCommand(home *testserver.Home, program string, behind *url.URL, port int) (*exec.Cmd, error) {
	password, _ := behind.User.Password()
	users, err := home.Write("users.txt", fmt.Sprintf("%q %q\n", behind.User.Username(), password))
	if err != nil {
		return nil, err
	}
	config, err := home.Write("pgbouncer.ini", fmt.Sprintf(bouncerConfig, behind.Hostname(), behind.Port(), port, users))
	if err != nil {
		return nil, err
	}
	return home.Command(program, config), nil
}
