package cluster_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

type echo struct {
	*cluster.Link
	conn  net.Conn
	lines *bufio.Reader
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // the link may break
			}()
		}
	}()
	link, err := cluster.NewLink("127.0.0.1:0", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	e := &echo{Link: link}
	e.dial(t)
	e.says(t, "hello")
	return e
}

func (e *echo) dial(t *testing.T) {
	t.Helper()
	conn, err := net.Dial("tcp", e.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	e.conn, e.lines = conn, bufio.NewReader(conn)
}

func (e *echo) send(t *testing.T, line string) {
	t.Helper()
	if _, err := e.conn.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
}

func (e *echo) says(t *testing.T, line string) {
	t.Helper()
	e.send(t, line)
	if got, err := e.read(time.Minute); err != nil || got != line+"\n" {
		t.Fatalf("came back: %q, %v; sent was %q", got, err, line)
	}
}

func (e *echo) read(patience time.Duration) (string, error) {
	if err := e.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	return e.lines.ReadString('\n')
}

// silent checks that nothing comes back, for a moment.
func (e *echo) silent(t *testing.T) {
	t.Helper()
	if got, err := e.read(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("came back: %q, %v; the link is stalled", got, err)
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]func(e *echo) error{
		"HoldUp":   func(e *echo) error { return e.Hold(cluster.Up) },
		"HoldDown": func(e *echo) error { return e.Hold(cluster.Down) },
		"Starve":   func(e *echo) error { return e.Starve(cluster.Up, cluster.Down) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEcho(t)
			if err := stall(e); err != nil {
				t.Fatal(err)
			}
			e.send(t, "late")
			e.silent(t)
			if err := e.Restore(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := e.read(time.Minute); err != nil || got != "late\n" {
				t.Fatalf("after the link was restored came %q, %v", got, err)
			}
			e.says(t, "again")
		})
	}
	t.Run("Swallow", func(t *testing.T) {
		t.Parallel()
		e := newEcho(t)
		if err := e.Swallow(cluster.Up, cluster.Down); err != nil {
			t.Fatal(err)
		}
		e.send(t, "lost")
		e.silent(t)
		if err := e.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := e.read(time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("came back: %q, %v; the connection is broken", got, err)
		}
		e.dial(t)
		e.says(t, "again")
	})
	t.Run("Reset", func(t *testing.T) {
		t.Parallel()
		e := newEcho(t)
		if err := e.Reset(); err != nil {
			t.Fatal(err)
		}
		e.send(t, "lost")
		if got, err := e.read(time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("came back: %q, %v; the connection is broken", got, err)
		}
		if err := e.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.dial(t)
		e.says(t, "again")
	})
	t.Run("Cut", func(t *testing.T) {
		t.Parallel()
		e := newEcho(t)
		e.Cut()
		if got, err := e.read(time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("came back: %q, %v; the connection is cut", got, err)
		}
		if c, err := net.Dial("tcp", e.Address()); err == nil {
			c.Close()
			t.Fatal("a connection was made over a link that is cut")
		}
		if err := e.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.dial(t)
		e.says(t, "again")
	})
}
