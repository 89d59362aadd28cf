package settings

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Switch is a setting that defaults to on.
type Switch string

// The positions of a Switch.
const (
	On  Switch = "true"
	Off Switch = "false"
)

func (s Switch) valid() bool { return s == On || s == Off }

// Cases sets when cases are opened and resolved automatically.
type Cases struct {
	// Enabled opens cases automatically; by hand they can always be opened.
	Enabled Switch
	// AutoResolve resolves the case of a recovered task as "system"; otherwise the case only notes the recovery.
	AutoResolve bool
	// WorkerUnavailableAfter is how long a step may be ready without a live worker for its route. -1 is forever.
	WorkerUnavailableAfter time.Duration
	// PriorityBases add minutes of age per reason in the investigation queue.
	PriorityBases PriorityBases
}

// PriorityBases are the bases of the priority score by reason.
type PriorityBases struct {
	DependencyCycleDetected int
	MaxRetriesExceeded      int
	StalenessTimeout        int
	WorkerUnavailable       int
	ManualDLQ               int
}

// Of returns the base of a reason.
func (b PriorityBases) Of(r task.CaseReason) int {
	switch r {
	case task.ReasonCycle:
		return b.DependencyCycleDetected
	case task.ReasonMaxRetries:
		return b.MaxRetriesExceeded
	case task.ReasonStaleness:
		return b.StalenessTimeout
	case task.ReasonWorkerUnavailable:
		return b.WorkerUnavailable
	default:
		return b.ManualDLQ
	}
}

// Headstart returns how much earlier a case of a reason counts as opened.
func (b PriorityBases) Headstart(r task.CaseReason) time.Duration {
	return time.Duration(b.Of(r)) * time.Minute
}

// Urgency returns the time at which a case counts as opened: the earliest is the most urgent.
func (b PriorityBases) Urgency(c *task.Case) task.Instant {
	return c.OpenedAt.Add(-b.Headstart(c.Reason))
}

// StalenessDetection configures the staleness detector.
type StalenessDetection struct {
	Enabled           Switch
	BatchSize         int
	DetectionInterval time.Duration
	// DryRun only reports.
	DryRun bool
}

func (c *Cases) setDefaults() {
	orDefault(&c.Enabled, On)
	orDefault(&c.WorkerUnavailableAfter, 5*time.Minute)
	b := &c.PriorityBases
	orDefault(&b.DependencyCycleDetected, 1000)
	orDefault(&b.MaxRetriesExceeded, 500)
	orDefault(&b.StalenessTimeout, 100)
	orDefault(&b.WorkerUnavailable, 50)
	orDefault(&b.ManualDLQ, 10)
}

func (d *StalenessDetection) setDefaults() {
	orDefault(&d.Enabled, On)
	orDefault(&d.BatchSize, 100)
	orDefault(&d.DetectionInterval, 5*time.Minute)
}

// MaxDetections bounds a batch of the staleness detector.
const MaxDetections = 10_000

// maxPriorityBase is about two years, in minutes.
const maxPriorityBase = 1_000_000

func (c Config) validateCases(bad func(ok bool, format string, args ...any)) {
	bad(c.Cases.Enabled.valid(), "cases.enabled must be true or false, not %q", c.Cases.Enabled)
	bad(orNever(c.Cases.WorkerUnavailableAfter), "cases.worker_unavailable_after must be positive, or -1")
	for _, r := range task.CaseReasons {
		base := c.Cases.PriorityBases.Of(r)
		bad(base >= 0 && base <= maxPriorityBase, "cases.priority_bases.%s must be 0 to %d", r, maxPriorityBase)
	}
	bad(c.StalenessDetection.Enabled.valid(), "staleness_detection.enabled must be true or false, not %q",
		c.StalenessDetection.Enabled)
	bad(c.StalenessDetection.BatchSize > 0 && c.StalenessDetection.BatchSize <= MaxDetections,
		"staleness_detection.batch_size must be 1 to %d", MaxDetections)
	bad(c.StalenessDetection.DetectionInterval > 0, "staleness_detection.detection_interval must be positive")
	t := c.StalenessThresholds
	bad(orNever(t.WaitingForDependencies), "staleness_thresholds.waiting_for_dependencies must be positive, or -1")
	bad(orNever(t.WaitingForRetry), "staleness_thresholds.waiting_for_retry must be positive, or -1")
	bad(orNever(t.StepsInProcess), "staleness_thresholds.steps_in_process must be positive, or -1")
}

func orNever(d time.Duration) bool { return d > 0 || d == -1 }
