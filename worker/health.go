package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/vitals"
)

// Health configures a worker's health report. A server with engine.worker_probes reads it, and assigns no steps to a
// worker that is unhealthy or does not answer. Everyone who can reach the address sees the figures.
type Health struct {
	// Addr is the address at which Run listens, such as ":8090"; port 0 lets the system choose. "" listens nowhere:
	// serve HealthHandler yourself.
	Addr string
	// URL is the address of the report for servers, without the path /health, such as http://10.0.0.7:8090. Defaults
	// to Addr; if that names no host, to this machine's address on the default route. Required without Addr.
	URL string
	// MaxMemoryPercent bounds the memory of the process, in percent of GOMEMLIMIT, its control group or the machine.
	// Defaults to 90; negative: no bound.
	MaxMemoryPercent float64
	// MaxCPUPercent bounds the CPU time of the process over 30 s, in percent of its cores. Defaults to 95; negative:
	// no bound.
	MaxCPUPercent float64
	// MaxGoroutines defaults to 100,000; negative: no bound.
	MaxGoroutines int
	// Checks are the application's checks by name. An error makes the worker unhealthy; the log has it, the report
	// has not. The checks run with each GET /health, and share three seconds.
	Checks map[string]func(context.Context) error
}

// checksTimeout is shorter than the timeout of the servers' probes.
const checksTimeout = 3 * time.Second

func (w *Worker) own(ctx context.Context, report *healthReport) {
	if w.opts.Health == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checksTimeout)
	defer cancel()
	for name, check := range w.opts.Health.Checks {
		err := check(ctx)
		report.Checks[name] = healthCheck{OK: err == nil}
		if err != nil {
			report.Status = "unhealthy"
			w.opts.Logger.Warn("health check failed", "check", name, "error", err)
		}
	}
}

// limits applies the defaults. Vitals takes a negative bound as none.
func (h Health) limits() vitals.Limits {
	return vitals.Limits{MemoryPercent: cmp.Or(h.MaxMemoryPercent, 90), CPUPercent: cmp.Or(h.MaxCPUPercent, 95),
		Goroutines: cmp.Or(h.MaxGoroutines, 100_000)}
}

type healthReport struct {
	Status   string                 `json:"status"`
	Worker   string                 `json:"worker"`
	WorkerID string                 `json:"worker_id,omitempty"`
	Load     int                    `json:"current_load"`
	Capacity int                    `json:"capacity"`
	Checks   map[string]healthCheck `json:"checks"`
}

type healthCheck struct {
	OK    bool     `json:"ok"`
	Value *float64 `json:"value"`
	Limit *float64 `json:"limit"`
	Unit  string   `json:"unit,omitempty"`
}

const heartbeatCheck = "heartbeat"

// healthUnits are the units of the built-in checks, whose names Checks must not use.
var healthUnits = map[string]string{vitals.Memory: "percent", vitals.CPU: "percent", vitals.Goroutines: "goroutines",
	heartbeatCheck: "seconds"}

// HealthHandler serves the health report at any path, for programs that already serve HTTP: status 200 when the
// worker is healthy, else 503. The JSON body has the checks memory, cpu, goroutines and heartbeat (the time since the
// server last answered one, at most a lease), and those of Health.Checks. A worker that does not run is unhealthy.
func (w *Worker) HealthHandler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			rw.Header().Set("Allow", "GET, HEAD")
			http.Error(rw, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		report := w.health(time.Now())
		w.own(r.Context(), &report)
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Cache-Control", "no-store")
		if report.Status != "ok" {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		if err := json.NewEncoder(rw).Encode(report); err != nil {
			w.opts.Logger.Debug("answer a health check", "error", err)
		}
	})
}

// health returns the report without the application's checks. The status is ok only if every check is.
func (w *Worker) health(now time.Time) healthReport {
	report := healthReport{Status: "ok", Worker: w.opts.Name, Capacity: w.opts.Concurrency,
		Checks: map[string]healthCheck{}}
	checks := append(w.vitals.Look(), w.connection(now, &report))
	for _, c := range checks {
		shown := healthCheck{OK: c.OK, Unit: healthUnits[c.Name]}
		if c.Known {
			shown.Value = &c.Value
		}
		if c.Limit > 0 {
			shown.Limit = &c.Limit
		}
		report.Checks[c.Name] = shown
		if !c.OK {
			report.Status = "unhealthy"
		}
	}
	return report
}

// connection completes a report and returns the server check of the session that is worst off, nil without a session.
func (w *Worker) connection(now time.Time, report *healthReport) vitals.Check {
	sessions := w.current.Load()
	if sessions == nil {
		return vitals.Check{Name: heartbeatCheck}
	}
	report.Capacity = 0
	var worst vitals.Check
	for i, s := range *sessions {
		check := s.vitals(now, report)
		report.Capacity += s.opts.Concurrency
		if i == 0 || (worst.OK && (!check.OK || check.Value > worst.Value)) {
			worst = check
		}
	}
	return worst
}

func (s *session) vitals(now time.Time, report *healthReport) vitals.Check {
	check := vitals.Check{Name: heartbeatCheck}
	s.mu.Lock()
	self, running, heard := s.self, s.running, s.heard
	s.mu.Unlock()
	if heard.IsZero() {
		return check
	}
	if report.WorkerID == "" {
		report.WorkerID = self.WorkerID.String()
	}
	report.Load += running
	limit := leaseOf(&self)
	if limit <= 0 {
		limit = 3 * s.beatInterval()
	}
	check.Known, check.Value, check.Limit = true, now.Sub(heard).Seconds(), limit.Seconds()
	check.OK = check.Value < check.Limit
	return check
}

func (s *session) noteAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
}

// Bounds of the listener: it serves probes only.
const (
	healthTimeout = 5 * time.Second
	healthHeader  = 8 << 10
)

func (w *Worker) serveHealth(ctx context.Context) (url string, stop func(), err error) {
	h := w.opts.Health
	stop = func() {}
	switch {
	case h == nil:
		return "", stop, nil
	case h.Addr == "" && h.URL == "":
		return "", stop, tasker.Errorf(tasker.CodeInvalid, "worker %s: Health needs Addr or URL", w.opts.Name)
	}
	for name, check := range h.Checks {
		if _, taken := healthUnits[name]; taken || name == "" || check == nil {
			return "", stop, tasker.Errorf(tasker.CodeInvalid,
				"worker %s: Health.Checks: %q needs a name of its own, and a function",
				w.opts.Name, name)
		}
	}
	if h.Addr == "" {
		return h.URL, stop, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", h.Addr)
	if err != nil {
		return "", stop, fmt.Errorf("listen for health checks: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/health", w.HealthHandler())
	server := &http.Server{Handler: mux, ReadTimeout: healthTimeout, WriteTimeout: healthTimeout,
		IdleTimeout:    healthTimeout,
		MaxHeaderBytes: healthHeader, ErrorLog: slog.NewLogLogger(w.opts.Logger.Handler(), slog.LevelDebug)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	stop = func() {
		_ = server.Close() // an interrupted probe is repeated
		<-ended
	}
	return cmp.Or(h.URL, "http://"+reachable(ctx, listener.Addr())), stop, nil
}

// reachable is the address under which others probably reach a listener on this machine.
func reachable(ctx context.Context, at net.Addr) string {
	bound, err := netip.ParseAddrPort(at.String())
	if err != nil || !bound.Addr().IsUnspecified() {
		return at.String()
	}
	host := "127.0.0.1"
	// Connecting a datagram socket sends nothing, but selects the route. The address is reserved for documentation.
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "udp", "192.0.2.1:9"); err == nil {
		if own, err := netip.ParseAddrPort(conn.LocalAddr().String()); err == nil {
			host = own.Addr().Unmap().String()
		}
		_ = conn.Close()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(bound.Port())))
}
