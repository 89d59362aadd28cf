package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU time in /proc: 100 Hz in user space.
const clockTick = 10 * time.Millisecond

// Meter reads the CPU time of the measured processes; 0 without /proc.
type Meter struct {
	pids       []int
	postmaster int // its children count, too; 0: none visible
}

// Watch returns a Meter for processes, and for the DSN's PostgreSQL if it runs on this machine.
func Watch(ctx context.Context, dsn string, pids []int) (*Meter, error) {
	m := &Meter{pids: pids}
	if !IsPostgres(dsn) {
		return m, nil
	}
	conn, err := Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var backend int
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return nil, fmt.Errorf("ask for the server's process: %w", err)
	}
	// A remote server's process IDs may match local ones: only a PostgreSQL counts.
	if s, ok, err := statOf(backend); err != nil || !ok || s.name != "postgres" {
		return m, err
	} else if p, ok, err := statOf(s.parent); err != nil || !ok || p.name != "postgres" {
		return m, err
	} else {
		m.postmaster = s.parent
	}
	return m, nil
}

// CPU is the processes' CPU time since their start, in steps of 10 ms. A nil Meter reads 0.
func (m *Meter) CPU() (time.Duration, error) {
	if m == nil {
		return 0, nil
	}
	var total time.Duration
	for _, pid := range m.pids {
		s, _, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		total += s.own
	}
	if m.postmaster == 0 {
		return total, nil
	}
	database, err := tree(m.postmaster)
	return total + database, err
}

// tree includes ended children, because PostgreSQL has a process per connection.
func tree(parent int) (time.Duration, error) {
	s, _, err := statOf(parent)
	if err != nil {
		return 0, err
	}
	total := s.own + s.ended
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		child, ok, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		if ok && child.parent == parent {
			total += child.own
		}
	}
	return total, nil
}

// stat has a process's name, parent and CPU times from /proc.
type stat struct {
	name   string
	parent int
	own    time.Duration // of itself
	ended  time.Duration // ended children
}

// statOf returns ok false for a missing process.
func statOf(pid int) (s stat, ok bool, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // ESRCH: it just ended
		return stat{}, false, nil
	}
	if err != nil {
		return stat{}, false, err
	}
	// the name in parentheses can contain anything
	from, to := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	fields := strings.Fields(string(raw[to+1:]))
	if from < 0 || to < from || len(fields) < 15 {
		return stat{}, false, fmt.Errorf("read CPU time of %d: not as expected: %q", pid, raw)
	}
	var n [5]int64 // parent, utime, stime, cutime, cstime
	for i, at := range []int{1, 11, 12, 13, 14} {
		if n[i], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return stat{}, false, fmt.Errorf("read CPU time of %d: %w", pid, err)
		}
	}
	return stat{name: string(raw[from+1 : to]), parent: int(n[0]),
		own: time.Duration(n[1]+n[2]) * clockTick, ended: time.Duration(n[3]+n[4]) * clockTick}, true, nil
}

// maxRSS is the sum of peak resident sizes, 0 without /proc.
func maxRSS(pids []int) (int64, error) {
	var total int64
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read resident size of %d: %w", pid, err)
		}
		total += kib << 10
	}
	return total, nil
}
