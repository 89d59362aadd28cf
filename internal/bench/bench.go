package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Options says what to measure.
type Options struct {
	// DB is the DSN of a database; the run leaves its tasks in it.
	DB string
	// Tasks per phase. Defaults to 20,000 (300 in latency mode,
	// 1,000,000 in depth mode).
	Tasks int
	// Workers is how many steps run at once. Defaults to 100.
	Workers int
	// Producers is how many callers submit one task a call. Defaults to 16.
	Producers int
	// PayloadBytes is the size of a task's context. Defaults to 100.
	PayloadBytes int
	// Via is how callers and workers reach the engine.
	Via Via
	// Mode is what is measured.
	Mode Mode
	// Executable is the tasker binary that serves, for ViaHTTP.
	Executable string
}

// Via is how callers and workers reach the engine.
type Via string

// The ways.
const (
	InProcess Via = "inproc"
	ViaHTTP   Via = "http" // a server in another process, over loopback
)

// Mode is what is measured.
type Mode string

// The modes.
const (
	Throughput Mode = "throughput"
	Latency    Mode = "latency"
	Depth      Mode = "depth"
)

// Report is what was measured. Phases that did not run are absent.
type Report struct {
	Mode         Mode   `json:"mode"`
	Via          Via    `json:"via"`
	DB           string `json:"db"`
	Tasks        int    `json:"tasks"`
	Workers      int    `json:"workers"`
	Producers    int    `json:"producers"`
	PayloadBytes int    `json:"payload_bytes"`

	Insert     *Phase `json:"insert,omitempty"`
	BulkInsert *Phase `json:"bulk_insert,omitempty"`
	Drain      *Phase `json:"drain,omitempty"`
	EndToEnd   *Phase `json:"end_to_end,omitempty"`

	Submit        *Percentiles `json:"submit,omitempty"`
	SubmitToStart *Percentiles `json:"submit_to_start,omitempty"`
	Workflow      *Percentiles `json:"workflow_4_steps,omitempty"`

	Depth *DepthReport `json:"depth,omitempty"`

	MaxRSSBytes int64 `json:"max_rss_bytes"`
}

// Phase is the result of one throughput phase.
type Phase struct {
	PerSecond  float64 `json:"per_s"`
	Seconds    float64 `json:"s"`
	CPUPerTask float64 `json:"cpu_us_per_task"` // of all processes taking part
}

// Percentiles of a latency, in microseconds.
type Percentiles struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Mode == "" {
		o.Mode = Throughput
	}
	if o.Via == "" {
		o.Via = InProcess
	}
	switch o.Mode {
	case Latency:
		def(&o.Tasks, 300)
	case Depth:
		def(&o.Tasks, 1_000_000)
	}
	def(&o.Tasks, 20_000)
	def(&o.Workers, 100)
	def(&o.Producers, 16)
	def(&o.PayloadBytes, 100)
	return o
}

func (o Options) validate() error {
	switch {
	case o.DB == "":
		return fmt.Errorf("name a database to measure on")
	case o.Via != InProcess && o.Via != ViaHTTP:
		return fmt.Errorf("via must be %s or %s, not %q", InProcess, ViaHTTP, o.Via)
	case o.Mode != Throughput && o.Mode != Latency && o.Mode != Depth:
		return fmt.Errorf("mode must be %s, %s or %s, not %q", Throughput, Latency, Depth, o.Mode)
	case o.Via == ViaHTTP && o.Executable == "":
		return fmt.Errorf("via http needs the executable that serves")
	case o.Tasks < 1 || o.Workers < 1 || o.Producers < 1 || o.PayloadBytes < 2:
		return fmt.Errorf("tasks, workers and producers must be positive, and the payload at least 2 bytes")
	}
	return nil
}

// Run measures. It blocks for as long as that takes.
func Run(ctx context.Context, opts Options) (Report, error) {
	opts = opts.withDefaults()
	report := Report{Mode: opts.Mode, Via: opts.Via, DB: opts.DB, Tasks: opts.Tasks, Workers: opts.Workers, Producers: opts.Producers, PayloadBytes: opts.PayloadBytes}
	if err := opts.validate(); err != nil {
		return report, err
	}
	b, err := newBed(ctx, opts)
	if err != nil {
		return report, err
	}
	defer b.close()
	switch opts.Mode {
	case Latency:
		err = b.latency(ctx, &report)
	case Depth:
		err = b.depth(ctx, &report)
	default:
		err = b.throughput(ctx, &report)
	}
	if err != nil {
		return report, err
	}
	report.MaxRSSBytes, err = maxRSS(b.pids())
	return report, err
}

// payload is a JSON document of n bytes.
func payload(n int) json.RawMessage {
	const frame = `{"d":""}`
	if n <= len(frame) {
		return json.RawMessage(`""` + strings.Repeat(" ", max(n-2, 0)))
	}
	return json.RawMessage(`{"d":"` + strings.Repeat("x", n-len(frame)) + `"}`)
}
