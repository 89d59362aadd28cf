package schedule

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Overlap decides about a firing while a task of an earlier one runs. A task in error has ended.
type Overlap string

// The policies of overlap.
const (
	OverlapSkip   Overlap = "skip"           // it is skipped
	OverlapOne    Overlap = "queue_one"      // it waits unless another one waits
	OverlapAll    Overlap = "queue_all"      // it waits behind those that wait
	OverlapCancel Overlap = "cancel_running" // the earlier tasks are cancelled
	OverlapAllow  Overlap = "allow"          // the tasks run beside each other
)

// Overlaps are all policies of overlap.
var Overlaps = []Overlap{OverlapSkip, OverlapOne, OverlapAll, OverlapCancel, OverlapAllow}

// Missed decides about firings later than the grace, for example after an outage.
type Missed string

// The policies of missed firings.
const (
	MissedSkip Missed = "skip" // all are skipped
	MissedOnce Missed = "once" // the latest is made up for
	MissedAll  Missed = "all"  // the latest, up to a limit, are made up for
)

// MissedPolicies are all of them.
var MissedPolicies = []Missed{MissedSkip, MissedOnce, MissedAll}

// Bounds and defaults of a Spec.
const (
	MaxJitter    = time.Hour
	MinEvery     = time.Second
	MaxEvery     = 366 * 24 * time.Hour
	MaxGrace     = 24 * time.Hour
	DefaultGrace = time.Minute
	// MaxMissed bounds the missed firings made up for, MaxWaiting those that wait for earlier ones.
	MaxMissed  = 1000
	MaxWaiting = 1000
	// MaxPerNamespace bounds the schedules of a namespace, MaxBackfill the times of one backfill.
	MaxPerNamespace = 10_000
	MaxBackfill     = 1000

	maxCron        = 255
	maxDescription = 1024
)

// Spec is the user's definition of a schedule.
type Spec struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`

	// Cron is a cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a
	// duration. Zone is a name of the IANA database, "" for UTC.
	Cron string `json:"cron"`
	Zone string `json:"time_zone,omitempty"`
	// Jitter delays each firing by a share of it that follows from the name and the time.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Start and End bound the times, both included; 0: no bound.
	Start task.Instant `json:"start_at,omitempty"`
	End   task.Instant `json:"end_at,omitempty"`

	Overlap Overlap `json:"overlap"`
	// Missed decides about firings later than Grace; MissedLimit needs MissedAll.
	Missed      Missed        `json:"missed"`
	MissedLimit int           `json:"missed_limit,omitempty"`
	Grace       time.Duration `json:"grace"`

	// The task: a template or a task type, as in a submission.
	Template string          `json:"template,omitempty"`
	Version  string          `json:"template_version,omitempty"`
	TaskType string          `json:"task_type,omitempty"`
	Context  json.RawMessage `json:"context,omitempty"`
	// TimeField names a member of the context for the time of the firing, "" for none.
	TimeField    string        `json:"time_field,omitempty"`
	Priority     string        `json:"priority,omitempty"`
	Tags         []string      `json:"tags,omitempty"`
	OrderingKey  string        `json:"ordering_key,omitempty"`
	Capabilities []string      `json:"required_capabilities,omitempty"`
	Timeout      time.Duration `json:"timeout,omitempty"`
	MaxRetries   *int          `json:"max_retries,omitempty"`
}

// WithDefaults returns a copy with the defaults of missing fields.
func (s *Spec) WithDefaults() *Spec {
	out := *s
	out.Overlap = cmp.Or(out.Overlap, OverlapSkip)
	if out.Missed == "" {
		out.Missed = MissedSkip
	}
	out.Grace = cmp.Or(out.Grace, DefaultGrace)
	return &out
}

var numbers = regexp.MustCompile(`(?:^|[\s,])([0-9]+)-([0-9]+)`)

// backwards returns the first range of numbers that ends before it begins, mostly a typing error; the parser would
// wrap around. Ranges of names, such as NOV-FEB, are fine.
func backwards(expression string) (from, to string) {
	for _, m := range numbers.FindAllStringSubmatch(expression, -1) {
		low, err := strconv.Atoi(m[1])
		high, err2 := strconv.Atoi(m[2])
		if err == nil && err2 == nil && low > high {
			return m[1], m[2]
		}
	}
	return "", ""
}

// Validate returns the problems of a Spec with defaults, each at a pointer to the field of the API. The engine
// checks the task, and Compile the expression and the zone.
func (s *Spec) Validate() []task.Problem {
	var problems []task.Problem
	bad := func(at, format string, args ...any) {
		problems = append(problems, task.Problem{Location: at, Message: fmt.Sprintf(format, args...)})
	}
	for _, f := range []struct {
		at, value string
		limit     int
	}{{"/namespace", s.Namespace, task.MaxName}, {"/name", s.Name, task.MaxName},
		{"/description", s.Description, maxDescription}, {"/cron", s.Cron, maxCron}, {"/time_zone", s.Zone, task.MaxName}} {
		if fault := task.TextFault(f.value, f.limit); fault != "" {
			bad(f.at, "%s", fault)
		}
	}
	if strings.TrimSpace(s.Name) == "" || s.Name == "." || s.Name == ".." {
		bad("/name", "must name the schedule")
	}
	if strings.TrimSpace(s.Cron) == "" {
		bad("/cron", `is missing: for example "0 9 * * 1-5" or "@every 5m"`)
	}
	if from, to := backwards(s.Cron); from != "" {
		bad("/cron", "has the range %s-%s, which ends before it begins; write two ranges, such as 22-23,0-2", from, to)
	}
	if s.Jitter < 0 || s.Jitter > MaxJitter {
		bad("/jitter_seconds", "must be 0 to %d", int(MaxJitter.Seconds()))
	}
	for at, value := range map[string]task.Instant{"/start_at": s.Start, "/end_at": s.End} {
		if fault := task.InstantFault(value); fault != "" {
			bad(at, "%s", fault)
		}
	}
	if s.TimeField != "" {
		if fault := task.TextFault(s.TimeField, task.MaxName); fault != "" {
			bad("/time_field", "%s", fault)
		}
		if c := bytes.TrimSpace(s.Context); len(c) > 0 && c[0] != '{' && string(c) != "null" {
			bad("/time_field", "needs a context that is an object")
		}
	}
	if s.Start != 0 && s.End != 0 && s.End < s.Start {
		bad("/end_at", "is before start_at")
	}
	problems = append(problems, s.policyFaults()...)
	slices.SortStableFunc(problems, func(a, b task.Problem) int { return strings.Compare(a.Location, b.Location) })
	return problems
}

func (s *Spec) policyFaults() []task.Problem {
	var problems []task.Problem
	bad := func(at, format string, args ...any) {
		problems = append(problems, task.Problem{Location: at, Message: fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(Overlaps, s.Overlap) {
		bad("/overlap", "must be one of %s", names(Overlaps))
	}
	if !slices.Contains(MissedPolicies, s.Missed) {
		bad("/missed", "must be one of %s", names(MissedPolicies))
	}
	switch {
	case s.Missed == MissedAll && (s.MissedLimit < 1 || s.MissedLimit > MaxMissed):
		bad("/missed_limit", "must be 1 to %d with missed all", MaxMissed)
	case s.Missed != MissedAll && s.MissedLimit != 0:
		bad("/missed_limit", "goes with missed all only")
	}
	if s.Grace < time.Second || s.Grace > MaxGrace {
		bad("/grace_seconds", "must be 1 to %d", int(MaxGrace.Seconds()))
	}
	return problems
}

func names[S ~string](list []S) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// SameTimes reports whether two specs have the same times. Otherwise the new times count from the change.
func (s *Spec) SameTimes(other *Spec) bool {
	return s.Cron == other.Cron && s.Zone == other.Zone && s.Start == other.Start
}
