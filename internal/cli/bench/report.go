package bench

import (
	"slices"
	"time"
)

// Report is the JSON of `tasker bench --json`. Phases that did not run are absent.
type Report struct {
	Setting

	Insert     *Phase `json:"insert,omitempty"`
	BulkInsert *Phase `json:"bulk_insert,omitempty"`
	Drain      *Phase `json:"drain,omitempty"`
	EndToEnd   *Phase `json:"end_to_end,omitempty"`

	Submit        *Percentiles `json:"submit,omitempty"`
	SubmitToStart *Percentiles `json:"submit_to_start,omitempty"`
	Workflow      *Percentiles `json:"workflow_4_steps,omitempty"`

	Dead   *LettersReport `json:"dead_letters,omitempty"`
	Intake *Phase         `json:"intake,omitempty"` // from a full broker queue until each message is a task

	Soak *SoakReport `json:"soak,omitempty"`

	Outcome
}

// Setting is the configuration of a measurement.
type Setting struct {
	Mode         Mode   `json:"mode"`
	Via          Via    `json:"via"`
	Nodes        int    `json:"nodes"`
	DB           string `json:"db"`                  // as given: hide its password
	Dispatch     string `json:"dispatch,omitempty"`  // likewise; "": through the database
	Transport    string `json:"transport,omitempty"` // likewise; "": polling
	Tasks        int    `json:"tasks"`
	Workers      int    `json:"workers"`
	Producers    int    `json:"producers"`
	PayloadBytes int    `json:"payload_bytes"`
}

// LettersReport has the measurements of dead letters, which are the "tasks" of its phases.
type LettersReport struct {
	Letters           int          `json:"letters"`
	Groups            int          `json:"groups"`
	FingerprintMicros float64      `json:"fingerprint_us"`
	Capture           *Phase       `json:"capture"` // from the broker's queue to the inbox
	Freeze            *Phase       `json:"freeze"`  // a selection of all letters
	Redrive           *Phase       `json:"redrive"` // without a rate, until done
	Redriven          int          `json:"redriven"`
	Pages             []PageReport `json:"pages"`
}

// PageReport is the latency of one page, in microseconds.
type PageReport struct {
	Name string `json:"name"`
	Percentiles
}

// Outcome is the common result of every measurement.
type Outcome struct {
	Ledger      *LedgerReport `json:"ledger,omitempty"`
	MaxRSSBytes int64         `json:"max_rss_bytes"` // of callers, workers and servers of Tasker
}

// Phase is the result of one throughput phase.
type Phase struct {
	PerSecond float64 `json:"per_s"`
	Seconds   float64 `json:"s"`
	// CPUPerTask includes callers, workers, servers, and a local PostgreSQL.
	CPUPerTask float64 `json:"cpu_us_per_task"`
}

// Percentiles of a latency, in microseconds.
type Percentiles struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Summary sorts d and returns its percentiles; nil without any.
func Summary(d []time.Duration) *Percentiles {
	if len(d) == 0 {
		return nil
	}
	slices.Sort(d)
	at := func(q float64) int64 { return d[min(int(q*float64(len(d))), len(d)-1)].Microseconds() }
	return &Percentiles{P50: at(0.50), P95: at(0.95), P99: at(0.99), Max: d[len(d)-1].Microseconds()}
}

// Milliseconds is d with three decimals.
func Milliseconds(d time.Duration) float64 { return Round3(float64(d.Microseconds()) / 1000) }

// Round3 rounds to three decimals.
func Round3(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }

func round(v float64) float64 { return float64(int64(v + 0.5)) }
