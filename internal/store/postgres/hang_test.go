package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func both(primary, standby *pgtest.Server) string {
	port := fmt.Sprintf("127.0.0.1:%d", primary.Port())
	return strings.Replace(primary.DSN(), port, fmt.Sprintf("%s,127.0.0.1:%d", port, standby.Port()), 1)
}

func until(t *testing.T, most time.Duration, do func(ctx context.Context) error) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		err := do(t.Context())
		took := time.Since(began)
		if err == nil {
			return took
		}
		if took > most {
			t.Errorf("after %v: %v", took, err)
			return took
		}
	}
}

func note(s *postgres.Store) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return s.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return s.NoteStore().Note(ctx, tx, "hang", "over")
		})
	}
}

// TestHangingPrimary stops all processes of the primary, with its connections open. Service returns, on the promoted
// standby, long before a statement's time-out.
func TestHangingPrimary(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t, "fsync=off")
	standby := primary.StartStandby(t, "fsync=off")
	s, err := postgres.Open(t.Context(), both(primary, standby), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	replaced := make(chan struct{}, 100)
	s.OnReplaced(func() { replaced <- struct{}{} })
	until(t, time.Minute, note(s))
	if err := primary.Freeze(); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	var callers errgroup.Group // more than there are connections, all in use
	for range 20 {
		callers.Go(func() error {
			until(t, time.Minute, note(s))
			return nil
		})
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted := time.Since(frozen)
	_ = callers.Wait()
	took := time.Since(frozen)
	t.Logf("the standby was promoted %v after the primary hung, and every caller was served after %v", promoted, took)
	if took > promoted+12*time.Second {
		t.Errorf("service was back after %v", took)
	}
	select {
	case <-replaced:
	default:
		t.Error("the node did not notice that it is on another timeline")
	}
}

// TestFrozenAndBack freezes the only server for longer than the dialer waits, and resumes it.
func TestFrozenAndBack(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=off")
	s, err := postgres.Open(t.Context(), server.DSN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Ping(t.Context()); err == nil {
		t.Fatal("a server that is frozen answers")
	}
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("it took %v to notice that the server hangs", took)
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
	took := until(t, time.Minute, note(s))
	t.Logf("service was back %v after the server went on", took)
	if took > 8*time.Second {
		t.Errorf("service was back after %v", took)
	}
}

// TestLockIsNoHang lets a statement wait for a lock for longer than the dialer waits for a server.
func TestLockIsNoHang(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), pgtest.DSN(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	began := time.Now()
	if _, err := s.Exec(t.Context(), "SELECT pg_sleep(6)"); err != nil {
		t.Errorf("a statement that takes 6 s failed after %v: %v", time.Since(began), err)
	}
}
