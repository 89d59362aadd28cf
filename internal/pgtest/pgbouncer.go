package pgtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bouncerConfig makes PgBouncer share few connections among many clients, so
// that hardly two transactions of a client are carried out by the same one.
const bouncerConfig = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
pidfile = %s/pid
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
	return "", fmt.Errorf("PgBouncer is %w", errMissing)
}

// PgBouncer starts a PgBouncer in transaction mode before the server of a DSN,
// and returns the DSN of the same database through it, with pgbouncer=true. It
// ends with t.
func PgBouncer(t testing.TB, serverDSN string) string {
	t.Helper()
	program, err := Bouncer()
	orSkip(t, err)
	h, err := newHome("pgbouncer", `kill -KILL "$(cat pid)"`)
	orSkip(t, err)
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	dsn, err := startBouncer(t, h, program, serverDSN)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(h.dir, "log")) // what there is of it
		t.Fatalf("%v\n%s", err, log)
	}
	return dsn
}

func startBouncer(t testing.TB, h *home, program, serverDSN string) (string, error) {
	u, err := url.Parse(serverDSN)
	if err != nil || u.User == nil || u.Port() == "" {
		return "", errors.New("the DSN of the test server has to be a URL with user, host and port")
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	config, users := filepath.Join(h.dir, "pgbouncer.ini"), filepath.Join(h.dir, "users.txt")
	password, _ := u.User.Password()
	err = errors.Join(
		h.write(users, fmt.Sprintf("%q %q\n", u.User.Username(), password)),
		h.write(config, fmt.Sprintf(bouncerConfig, u.Hostname(), u.Port(), port, h.dir, users)))
	if err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(h.dir, "log"))
	if err != nil {
		return "", fmt.Errorf("create PgBouncer's log: %w", err)
	}
	defer log.Close()
	cmd := h.command(program, config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start PgBouncer: %w", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()                             // killed
		_ = os.Remove(filepath.Join(h.dir, "pid")) // nobody is to take another process for it
	})
	u.Host = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	dsn := with(u.String(), "pgbouncer", "true")
	return dsn, answers(dsn, cmd.Process)
}
