package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// key uses NUL, which none of the texts can contain.
func key(p *kernel.FailureCount) string {
	return p.Namespace + "\x00" + string(p.Reason) + "\x00" + p.Fingerprint
}

const (
	analysisNote = "dlq_patterns"
	// shownFingerprints bounds a report, knownFingerprints the memory.
	shownFingerprints, knownFingerprints = 200, 2000
	// fingerprintMemory is how long a fingerprint is remembered.
	fingerprintMemory = 30 * 24 * time.Hour
)

// analysis is stored as JSON, which other versions of the program read.
type analysis struct {
	At           task.Instant            `json:"at"`
	Since        task.Instant            `json:"since"`
	Reasons      []kernel.FailureCount   `json:"reasons"`
	Fingerprints []kernel.FailureCount   `json:"patterns"`
	Known        map[string]task.Instant `json:"known"` // when each was last found
}

// report computes alarms for the namespace: a reason may be frequent overall and rare in each.
func (a *analysis) report(namespace string, cfg settings.FailureAnalysis) *kernel.FailureReport {
	r := &kernel.FailureReport{At: a.At, Since: a.Since}
	for _, p := range a.Fingerprints {
		if namespace != "" && p.Namespace != namespace {
			continue
		}
		r.Fingerprints = append(r.Fingerprints, p)
		if p.New {
			r.Alarms = append(r.Alarms, kernel.FailureAlarm{Kind: kernel.NewFingerprint, Namespace: p.Namespace,
				Reason:      p.Reason,
				Fingerprint: p.Fingerprint, Cases: p.Cases})
		}
	}
	for _, p := range a.Reasons {
		if namespace != "" && p.Namespace != namespace {
			continue
		}
		i := slices.IndexFunc(r.Reasons, func(of kernel.FailureCount) bool { return of.Reason == p.Reason })
		if i < 0 {
			i = len(r.Reasons)
			r.Reasons = append(r.Reasons, kernel.FailureCount{Reason: p.Reason, First: p.First, Last: p.Last})
		}
		of := &r.Reasons[i]
		of.Cases += p.Cases
		of.Replayable += p.Replayable
		of.First, of.Last = min(of.First, p.First), max(of.Last, p.Last)
		r.Replayable += p.Replayable
	}
	slices.SortStableFunc(r.Reasons, func(x, y kernel.FailureCount) int {
		return cmp.Or(cmp.Compare(y.Cases, x.Cases), cmp.Compare(x.Reason, y.Reason))
	})
	for _, of := range r.Reasons {
		if of.Cases > cfg.AlarmAbove {
			r.Alarms = append(r.Alarms, kernel.FailureAlarm{Kind: kernel.FrequentReason, Reason: of.Reason, Cases: of.Cases})
		}
	}
	if r.Replayable > cfg.ReplayableAbove {
		r.Alarms = append(r.Alarms, kernel.FailureAlarm{Kind: kernel.ManyReplayable, Cases: r.Replayable})
	}
	return r
}

// AnalyzeFailures counts by reason and error the final failures within the window, and stores the counts, if an
// analysis is due in the cluster; else it returns nil. The first reports no fingerprint as new. Every process may
// call it at any time; concurrent analyses store the same counts.
func (e *Room) AnalyzeFailures(ctx context.Context) (*kernel.Analysis, error) {
	cfg := e.Cfg.DLQPatterns
	if cfg.Interval < 0 {
		return nil, nil
	}
	before, err := e.lastAnalysis(ctx)
	now := e.Now()
	if err != nil || before != nil && before.At <= now && now < before.At.Add(cfg.Interval) {
		return nil, err
	}
	after := &analysis{At: now, Since: now.Add(-cfg.Window), Known: map[string]task.Instant{}}
	if after.Reasons, err = e.CaseCounter.CountFailures(ctx, after.Since, false, knownFingerprints); err != nil {
		return nil, fmt.Errorf("analyse failures: %w", err)
	}
	if after.Fingerprints, err = e.CaseCounter.CountFailures(ctx, after.Since, true, shownFingerprints); err != nil {
		return nil, fmt.Errorf("analyse failures: %w", err)
	}
	after.compare(before)
	text, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encode analysis of failures: %w", err)
	}
	if err := e.Transact(ctx, func(ctx context.Context, tx kernel.Tx) error {
		return e.NoteStore.Note(ctx, tx, analysisNote, string(text))
	}); err != nil {
		return nil, fmt.Errorf("store analysis of failures: %w", err)
	}
	out := &kernel.Analysis{Report: after.report("", cfg), Interval: cfg.Interval}
	out.Raised = slices.Clone(out.Report.Alarms)
	if before != nil {
		raised := before.report("", cfg).Alarms
		out.Raised = slices.DeleteFunc(out.Raised, func(a kernel.FailureAlarm) bool {
			return slices.ContainsFunc(raised, func(b kernel.FailureAlarm) bool { a.Cases = b.Cases; return a == b })
		})
	}
	if e.Observer != nil {
		e.Observer.Analyzed(out)
	}
	return out, nil
}

// compare forgets the oldest beyond knownFingerprints; they would count as new again.
func (a *analysis) compare(before *analysis) {
	if before != nil {
		for key, at := range before.Known {
			if at > a.At.Add(-fingerprintMemory) {
				a.Known[key] = at
			}
		}
	}
	for i := range a.Fingerprints {
		p := &a.Fingerprints[i]
		_, known := a.Known[key(p)]
		p.New = !known && before != nil
		a.Known[key(p)] = a.At
	}
	if excess := len(a.Known) - knownFingerprints; excess > 0 {
		oldest := slices.SortedFunc(maps.Keys(a.Known), func(x, y string) int {
			return cmp.Or(cmp.Compare(a.Known[x], a.Known[y]), cmp.Compare(x, y))
		})
		for _, key := range oldest[:excess] {
			delete(a.Known, key)
		}
	}
}

// lastAnalysis returns nil for an unreadable note, which the next analysis replaces.
func (e *Room) lastAnalysis(ctx context.Context) (*analysis, error) {
	text, err := e.NoteStore.FindNote(ctx, analysisNote)
	if err != nil {
		return nil, fmt.Errorf("read analysis of failures: %w", err)
	}
	var a analysis
	if text == "" || json.Unmarshal([]byte(text), &a) != nil {
		return nil, nil //nolint:nilerror // then it begins anew
	}
	return &a, nil
}

// FailureReport returns the last analysis of a namespace, or of all (""). NotFound before the first.
func (e *Room) FailureReport(ctx context.Context, namespace string) (*kernel.FailureReport, error) {
	a, err := e.lastAnalysis(ctx)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, &task.Error{Code: task.NotFound, Message: "what failed has not been analysed yet",
			Hint: "a node does so when it starts, and every engine.dlq_patterns.interval"}
	}
	return a.report(namespace, e.Cfg.DLQPatterns), nil
}
