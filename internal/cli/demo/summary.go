package demo

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Summary has the results of the reports.
type Summary struct {
	// Records are the rows, Duplicates those recognised by their idempotency key, Tasks the rest.
	Records    int `json:"records"`
	Duplicates int `json:"duplicates"`
	Tasks      int `json:"tasks"`

	Completed int                      `json:"completed"`
	Failed    int                      `json:"failed"`
	States    map[tasker.TaskState]int `json:"states"`

	// Lost are accepted tasks that never settled, SettledTwice steps with two acknowledged final results. Both must
	// be 0.
	Lost         int `json:"lost"`
	SettledTwice int `json:"settled_twice"`

	// Steps were settled by this run's worker.
	Steps           int     `json:"steps"`
	Seconds         float64 `json:"seconds"` // from the first submission until all settled
	TasksPerSecond  float64 `json:"tasks_per_s"`
	StepsPerSecond  float64 `json:"steps_per_s"`
	CorrelationID   string  `json:"correlation_id"`
	TemplateVersion string  `json:"template_version"`

	Failures []FailureGroup `json:"failures"`

	command   string // how to type the program
	serverURL string
	rows      []Row // for proposed repairs
}

// A task without a final state is lost; rates omit those.
func (r *run) summary(settled map[uuid.UUID]tasker.TaskState, seconds float64) Summary {
	s := Summary{
		Records: len(r.rows), Duplicates: r.got.duplicates, Tasks: len(r.got.accepted), States: map[tasker.TaskState]int{},
		Failures: []FailureGroup{}, Seconds: round(seconds), CorrelationID: r.correlationID,
		TemplateVersion: templateVersion, command: r.opts.Command, serverURL: r.opts.ServerURL, rows: r.rows,
	}
	for id := range r.got.accepted {
		if state, ok := settled[id]; ok {
			s.States[state]++
		} else {
			s.Lost++
		}
	}
	s.Completed = s.States[tasker.TaskComplete]
	s.Failed = s.States[tasker.TaskError]
	s.Steps, s.SettledTwice = r.seen.totals()
	if seconds > 0 {
		s.TasksPerSecond = round(float64(s.Tasks-s.Lost) / seconds)
		s.StepsPerSecond = round(float64(s.Steps) / seconds)
	}
	return s
}

// Sound reports whether nothing accepted is lost and nothing was settled twice. Failed reports are sound.
func (s Summary) Sound() bool { return s.Lost == 0 && s.SettledTwice == 0 }

// JSON returns the summary as one line, without a newline.
func (s Summary) JSON() ([]byte, error) {
	line, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode summary: %w", err)
	}
	return line, nil
}

func round(f float64) float64 { return math.Round(f*1000) / 1000 }
