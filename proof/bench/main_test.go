package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/proof/bench/compare"
)

// Queues run every phase on real servers, agree with their tables, and leave nothing behind. The numbers are not judged
// here.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).DSN()
	redis := redistest.Start(t).URL()
	for _, peers := range []string{"river,tasker", "asynq,tasker-redis", "bare,tasker", "bare-sqlite,tasker-sqlite"} {
		sideBySide(t, dsn, redis, peers)
	}
	var left int
	conn, err := connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'bench%'`).Scan(
		&left); err != nil || left != 0 {
		t.Errorf("%d schemas are left: %v", left, err)
	}
}

func sideBySide(t *testing.T, dsn, redis, peers string) {
	t.Helper()
	var out bytes.Buffer
	args := []string{"--db", dsn, "--redis", redis, "--peers", peers, "--rounds", "2", "--tasks", "300", "--workers", "20",
		"--idle-tasks", "5", "--json"}
	if err := run(t.Context(), args, "", &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Versions map[string]string
		Server   map[string]string
		compare.Report
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Peers) != 2 || len(r.Metrics) != 11 || r.Server["fsync"] != "on" {
		t.Errorf("%s", out.Bytes())
	}
	for _, m := range r.Metrics {
		if m.Ratio.Median <= 0 || m.Ratio.Min > m.Ratio.Max || len(m.Peer) != 2 || m.Peer[0].Median <= 0 ||
			m.Peer[1].Median <= 0 {
			t.Errorf("%s: %+v", m.Name, m)
		}
	}
	if strings.Contains(out.String(), "://") {
		t.Error("the report shows a DSN, which may hold a password")
	}
}

func TestRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"UnknownPeer": {"--peers", "tasker,pigeon"}, "SamePeerTwice": {"--peers", "river,river"},
		"NoRounds": {"--rounds", "0"},
		"NoTasks":  {"--tasks", "-1"}, "ShortPayload": {"--payload", "1"}, "NoPool": {"--river-pool", "0"},
		"NotADSN": {"--db", "postgres://a b/"}, "Argument": {"fast"},
	} {
		if _, err := parse(args, "", io.Discard); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestNotDurable(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t, "fsync=off").DSN()
	if err := run(t.Context(), []string{"--db", dsn, "--tasks", "1"}, "", io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "fsync is off") {
		t.Errorf("a server that loses tasks was measured: %v", err)
	}
}
