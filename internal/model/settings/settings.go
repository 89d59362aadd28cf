package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Config holds the settings of the engine. The zero value of each field takes its default; see WithDefaults.
type Config struct {
	Limits       Limits
	Leases       Leases
	Retention    Retention
	Priorities   []PriorityLevel
	Scheduling   Scheduling
	Backpressure Backpressure
	Cases        Cases
	Recovery     Recovery
	// StalenessThresholds bound the time of tasks in one state without thresholds in their template; -1 is no
	// bound.
	StalenessDetection  StalenessDetection
	StalenessThresholds task.Thresholds
	WorkerProbes        WorkerProbes
	WorkerBreaker       WorkerBreaker
	OutageBreaker       OutageBreaker
	Signals             Signals
	// WorkerHealth are the thresholds that choose workers with the transport amqp. See HealthRule.
	WorkerHealth task.HealthRule
	Delivery     Delivery

	// DLQPatterns configures the analysis of recent permanent failures.
	DLQPatterns FailureAnalysis

	// IdempotencyWindow is how long an idempotency key is remembered.
	IdempotencyWindow time.Duration
	// ResubmitAfterTerminal lets a key whose task is terminal name a new task instead of returning the old one.
	ResubmitAfterTerminal bool
	// IdempotencyMismatch answers a submission whose key names a task with another body.
	IdempotencyMismatch KeyMismatch
	// UpkeepInterval is the interval of the loops that fire due steps. It bounds how late, not how early, a retry
	// starts.
	UpkeepInterval time.Duration
	// PollInterval is the interval at which a process of a shared store reads changes whose events were lost. It
	// bounds how late its waiting polls and callers learn of them.
	PollInterval time.Duration
}

// Limits bounds the size of one call. A call over a limit is refused whole.
type Limits struct {
	// PayloadBytes bounds a task's context and a step's result.
	PayloadBytes int
	// LargeResultBytes bounds a step's result if there is a blob store for results above PayloadBytes; at most 1
	// GiB.
	LargeResultBytes int
	// LetterBytes bounds key, headers and payload of a message that becomes a dead letter; at most 64 MiB. A larger
	// one stays on its broker.
	LetterBytes     int
	CheckpointBytes int
	// LogBytes bounds the log of an attempt, whose end is kept; -1 keeps no logs.
	LogBytes   int
	BatchItems int
	PageItems  int
	// PageBytes bounds the payloads (contexts, results, errors of failed tasks) on a page of a list together: a
	// larger page ends early, or, for cases and acts, omits the remaining metadata and data.
	PageBytes int
	// Workers bounds the registered workers, including remembered dead ones. A worker of known name and host may
	// register up to twice that bound.
	Workers int
	// Routes bounds the routes of a namespace (a handler with its required capabilities), and its handlers from
	// task_type. Each process counts alone, so several may exceed it by one each.
	Routes        int
	TemplateBytes int
	// Children bounds the child tasks of one step; at most 100,000.
	Children int
}

// ClaimMode is how a worker receives a step from the queue.
type ClaimMode string

const (
	// TwoPhase means: poll assigns, start begins the attempt. PollRequest.Start still selects one phase.
	TwoPhase ClaimMode = "two_phase"
	// SinglePhase means: poll begins the attempt.
	SinglePhase ClaimMode = "single_phase"
)

// Leases bounds how long a worker may hold a step without a heartbeat.
type Leases struct {
	ClaimMode ClaimMode
	// EnforceCapacity limits a poll to the worker's free capacity: the registered one less the steps that it holds.
	EnforceCapacity Switch
	// StartTimeout is how long an assigned step waits for its start.
	StartTimeout time.Duration
	// HeartbeatInterval is the interval of heartbeats that workers receive.
	HeartbeatInterval time.Duration
	// MissedHeartbeats makes a worker dead and its leases lost.
	MissedHeartbeats int
	// FreeRequeueFraction of a step's timeout: a lease that is lost earlier without progress costs no attempt, nor
	// does one that never started. -1: nothing is free.
	FreeRequeueFraction float64
	// FreeReturns is the number of workers in a row that a step may lose, or that may not start it, without a
	// charge; -1 is no bound.
	FreeReturns int
	// FreeReleases is the number of uncharged returns of a step in a row, mostly releases and snoozes by its
	// workers; -1 is no bound.
	FreeReleases int
	// MaxLongPoll bounds how long a poll may wait.
	MaxLongPoll time.Duration
	// PollInterval is the pause that workers take between polls that do not wait.
	PollInterval time.Duration
}

// Lease returns how long a started step is held without a heartbeat.
func (l Leases) Lease() time.Duration {
	return l.HeartbeatInterval * time.Duration(l.MissedHeartbeats)
}

// Retention sets when settled tasks are deleted. A task in error waits for an operator and is never deleted.
type Retention struct {
	// Finished is the age after their end at which complete, cancelled and manually resolved tasks are deleted; -1
	// keeps them forever.
	Finished time.Duration
	// Cases is the age after their resolution at which cases are deleted; -1 keeps them forever. A task stays as
	// long as it has a case; a pending case is never deleted.
	Cases      time.Duration
	Workers    time.Duration
	BatchItems int
}

// PriorityLevel names a level and sets the defaults of its tasks. An unnamed level takes the settings of the
// nearest named one below, else of the lowest.
type PriorityLevel struct {
	Name string

	Level      int
	MaxRetries int
	Timeout    time.Duration
	// MaxRetryDelay caps the back-off.
	MaxRetryDelay time.Duration
}

// DefaultPriorities is the default table.
func DefaultPriorities() []PriorityLevel {
	return []PriorityLevel{
		{Name: "high", Level: 75, MaxRetries: 5, Timeout: 300 * time.Second, MaxRetryDelay: 10 * time.Second},
		{Name: "medium", Level: 50, MaxRetries: 3, Timeout: 600 * time.Second, MaxRetryDelay: 30 * time.Second},
		{Name: "low", Level: 25, MaxRetries: 2, Timeout: 900 * time.Second, MaxRetryDelay: 60 * time.Second},
	}
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// WithDefaults returns a copy with the default of every zero field, and the priorities sorted, highest first.
func (c Config) WithDefaults() Config {
	orDefault(&c.Limits.PayloadBytes, 256<<10)
	orDefault(&c.Limits.LargeResultBytes, 64<<20)
	orDefault(&c.Limits.LetterBytes, 16<<20)
	orDefault(&c.Limits.CheckpointBytes, 64<<10)
	orDefault(&c.Limits.LogBytes, 64<<10)
	orDefault(&c.Limits.BatchItems, 1000)
	orDefault(&c.Limits.PageItems, 1000)
	orDefault(&c.Limits.PageBytes, 4<<20)
	orDefault(&c.Limits.Workers, 20_000)
	orDefault(&c.Limits.Routes, 10_000)
	orDefault(&c.Limits.TemplateBytes, 1<<20)
	orDefault(&c.Limits.Children, 10_000)
	orDefault(&c.Leases.ClaimMode, TwoPhase)
	orDefault(&c.Leases.EnforceCapacity, On)
	orDefault(&c.Leases.StartTimeout, 30*time.Second)
	orDefault(&c.Leases.HeartbeatInterval, 30*time.Second)
	orDefault(&c.Leases.MissedHeartbeats, 3)
	orDefault(&c.Leases.FreeRequeueFraction, 0.1)
	orDefault(&c.Leases.FreeReturns, 2)
	orDefault(&c.Leases.FreeReleases, 10_000)
	orDefault(&c.Leases.MaxLongPoll, 60*time.Second)
	orDefault(&c.Leases.PollInterval, time.Second)
	orDefault(&c.Retention.Finished, 7*24*time.Hour)
	orDefault(&c.Retention.Cases, 30*24*time.Hour)
	orDefault(&c.Retention.Workers, 30*24*time.Hour)
	orDefault(&c.Retention.BatchItems, 500)
	c.Scheduling.setDefaults()
	c.Backpressure.setDefaults()
	c.WorkerProbes.setDefaults()
	c.WorkerBreaker.setDefaults()
	c.OutageBreaker.setDefaults()
	c.Signals.setDefaults()
	c.WorkerHealth = c.WorkerHealth.WithDefaults()
	c.Delivery.setDefaults()
	c.Recovery.setDefaults()
	c.Cases.setDefaults()
	c.StalenessDetection.setDefaults()
	c.DLQPatterns.setDefaults()
	orDefault(&c.StalenessThresholds.WaitingForDependencies, time.Hour)
	orDefault(&c.StalenessThresholds.WaitingForRetry, 30*time.Minute)
	orDefault(&c.StalenessThresholds.StepsInProcess, 30*time.Minute)
	orDefault(&c.IdempotencyWindow, 24*time.Hour)
	orDefault(&c.IdempotencyMismatch, MismatchConflict)
	orDefault(&c.UpkeepInterval, time.Second)
	orDefault(&c.PollInterval, time.Second)
	if len(c.Priorities) == 0 {
		c.Priorities = DefaultPriorities()
	}
	c.Priorities = slices.Clone(c.Priorities)
	slices.SortFunc(c.Priorities, func(a, b PriorityLevel) int { return b.Level - a.Level })
	return c
}

// Validate returns every problem of a Config with defaults.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Limits.PayloadBytes > 0, "limits.payload_bytes must be positive")
	bad(c.Limits.LargeResultBytes > 0 && c.Limits.LargeResultBytes <= 1<<30,
		"limits.large_result_bytes must be 1 to 1073741824")
	bad(c.Limits.LetterBytes > 0 && c.Limits.LetterBytes <= 64<<20, "limits.letter_bytes must be 1 to 67108864")
	bad(c.Limits.CheckpointBytes > 0, "limits.checkpoint_bytes must be positive")
	bad(c.Limits.LogBytes >= -1 && c.Limits.LogBytes <= 1<<20, "limits.log_bytes must be -1 (no logs) to 1048576")
	bad(c.Limits.BatchItems > 0, "limits.batch_items must be positive")
	bad(c.Limits.PageItems > 0, "limits.page_items must be positive")
	bad(c.Limits.PageBytes > 0, "limits.page_bytes must be positive")
	bad(c.Limits.Workers > 0, "limits.workers must be positive")
	bad(c.Limits.Routes > 0, "limits.routes must be positive")
	bad(c.Limits.TemplateBytes > 0, "limits.template_bytes must be positive")
	bad(c.Limits.Children > 0 && c.Limits.Children <= task.MaxChildren, "limits.children must be 1 to %d",
		task.MaxChildren)
	bad(c.Leases.ClaimMode == TwoPhase || c.Leases.ClaimMode == SinglePhase,
		"leases.claim_mode must be %s or %s, not %q", TwoPhase, SinglePhase, c.Leases.ClaimMode)
	bad(c.Leases.EnforceCapacity.valid(),
		"leases.enforce_capacity must be true or false, not %q", c.Leases.EnforceCapacity)
	bad(c.Leases.StartTimeout > 0, "leases.start_timeout must be positive")
	bad(c.Leases.HeartbeatInterval > 0, "leases.heartbeat_interval must be positive")
	bad(c.Leases.MissedHeartbeats > 0, "leases.missed_heartbeats must be positive")
	bad(c.Leases.FreeRequeueFraction == -1 || c.Leases.FreeRequeueFraction > 0 && c.Leases.FreeRequeueFraction <= 1,
		"leases.free_requeue_fraction must be more than 0 and at most 1, or -1")
	bad(c.Leases.FreeReturns == -1 || c.Leases.FreeReturns > 0, "leases.free_returns must be positive, or -1")
	bad(c.Leases.FreeReleases == -1 || c.Leases.FreeReleases > 0, "leases.free_releases must be positive, or -1")
	bad(c.Leases.MaxLongPoll > 0, "leases.max_long_poll must be positive")
	bad(c.Leases.PollInterval >= time.Millisecond, "leases.poll_interval must be at least 1ms")
	bad(orNever(c.Retention.Finished), "retention.finished must be positive, or -1")
	bad(orNever(c.Retention.Cases), "retention.cases must be positive, or -1")
	bad(c.Retention.Workers > 0, "retention.workers must be positive")
	bad(c.Retention.BatchItems > 0, "retention.batch_items must be positive")
	c.Scheduling.validate(bad)
	c.Backpressure.validate(bad)
	c.WorkerProbes.validate(bad)
	c.WorkerBreaker.validate(bad)
	c.OutageBreaker.validate(bad)
	c.Signals.validate(bad)
	validateHealth(c.WorkerHealth, bad)
	c.Delivery.validate(bad)
	c.Recovery.validate(bad)
	c.validateCases(bad)
	c.DLQPatterns.validate(bad)
	bad(c.IdempotencyMismatch == MismatchConflict || c.IdempotencyMismatch == MismatchAccept,
		"idempotency_mismatch must be %s or %s, not %q", MismatchConflict, MismatchAccept, c.IdempotencyMismatch)
	bad(c.IdempotencyWindow > 0, "idempotency_window must be positive")
	bad(c.UpkeepInterval > 0, "upkeep_interval must be positive")
	bad(c.PollInterval > 0, "poll_interval must be positive")
	seen := map[string]bool{}
	levels := map[int]bool{}
	for i, p := range c.Priorities {
		_, numeric := strconv.Atoi(p.Name)
		bad(p.Name != "" && numeric != nil, "priorities[%d]: the name must be a word, not %q", i, p.Name)
		bad(!seen[strings.ToLower(p.Name)], "priorities[%d]: the name %q is used twice", i, p.Name)
		bad(!levels[p.Level], "priorities[%d]: the level %d is used twice", i, p.Level)
		bad(p.Level >= 0 && p.Level <= task.MaxPriority, "priorities[%d]: the level must be 0 to %d, not %d", i,
			task.MaxPriority, p.Level)
		bad(p.MaxRetries >= 0, "priorities[%d]: max_retries must not be negative", i)
		bad(p.Timeout > 0, "priorities[%d]: timeout must be positive", i)
		bad(p.MaxRetryDelay > 0, "priorities[%d]: max_retry_delay must be positive", i)
		seen[strings.ToLower(p.Name)], levels[p.Level] = true, true
	}
	return errors.Join(errs...)
}
