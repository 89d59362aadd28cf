package deadletter

import (
	"cmp"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The defaults of a plan and a stop rule.
const (
	DefaultCanary        = 10
	DefaultFactor        = 2
	DefaultLargest       = 1000
	DefaultObserve       = 30 * time.Second
	DefaultReturnedShare = 0.2
	DefaultSamePrint     = 25
	DefaultFailed        = 10
)

// The bounds of a plan and a stop rule.
const (
	MaxWave    = 100_000
	MaxFactor  = 100
	MaxObserve = 24 * time.Hour
	MinRate    = 0.001
	MaxRate    = 1e6
	MaxItems   = 1_000_000
	minShare   = 0.0001
)

// NoObservation in Plan.Observe sends waves without waiting for returns.
const NoObservation time.Duration = -1

// WithDefaults sets each zero field but Rate. The largest wave is at least as large as the canary.
func (p Plan) WithDefaults() Plan {
	if p.Canary == 0 {
		p.Canary = DefaultCanary
		if p.Largest > 0 {
			p.Canary = min(p.Canary, p.Largest)
		}
	}
	p.Factor = cmp.Or(p.Factor, DefaultFactor)
	p.Largest = cmp.Or(p.Largest, max(DefaultLargest, p.Canary))
	p.Observe = cmp.Or(p.Observe, DefaultObserve)
	return p
}

// Validate requires defaults, and locates problems at JSON pointers.
func (p Plan) Validate() []task.Problem {
	var list problems
	list.between("/canary", float64(p.Canary), 1, MaxWave)
	list.between("/factor", p.Factor, 1, MaxFactor)
	list.between("/largest", float64(p.Largest), 1, MaxWave)
	list.when(p.Largest < p.Canary, "/largest", "must not be smaller than canary")
	if p.Observe != NoObservation {
		list.within("/observe", p.Observe, time.Millisecond, MaxObserve)
	}
	if p.Rate != 0 {
		list.between("/rate", p.Rate, MinRate, MaxRate)
	}
	list.between("/limit", float64(p.Limit), 0, MaxItems)
	list.text("/priority", p.Priority, task.MaxName)
	return list
}

// Replays reports whether the plan has settings for replays of tasks.
func (p Plan) Replays() bool { return p.KeepAttempts || p.Priority != "" }

// WithDefaults sets each zero field: a tighter share must not switch off the other bounds. A share of 1, and MaxWave
// for the others, never halt.
func (s StopRule) WithDefaults() StopRule {
	return StopRule{ReturnedShare: cmp.Or(s.ReturnedShare, DefaultReturnedShare),
		SamePrint: cmp.Or(s.SamePrint, DefaultSamePrint), Failed: cmp.Or(s.Failed, DefaultFailed)}
}

// Validate locates problems at JSON pointers.
func (s StopRule) Validate() []task.Problem {
	var list problems
	if s.ReturnedShare != 0 {
		list.between("/returned_share", s.ReturnedShare, minShare, 1)
	}
	list.between("/same_print", float64(s.SamePrint), 0, MaxWave)
	list.between("/failed", float64(s.Failed), 0, MaxWave)
	return list
}

func (p *problems) below(at string, part []task.Problem) {
	for _, q := range part {
		p.add(at+q.Location, q.Message)
	}
}

// The bounds of a selection.
const (
	MaxSelectionIDs    = 1000
	MaxSelectionGroups = 100
	MaxText            = 1000
	MaxReplayCount     = 1000
)

// SelectsLetters reports whether a selection can match letters, which have neither template nor task.
func (s *Selection) SelectsLetters() bool {
	return s.Kind != model.KindCase && s.Template == "" && s.Reason == "" && s.TaskState == ""
}

// Validate locates problems at JSON pointers.
func (s *Selection) Validate() []task.Problem {
	var p problems
	p.text("/namespace", s.Namespace, task.MaxName)
	p.oneOf("/kind", string(s.Kind), string(model.KindLetter), string(model.KindCase))
	p.entries("/ids", len(s.IDs), MaxSelectionIDs)
	for i, id := range s.IDs {
		p.when(id.IsZero(), fmt.Sprintf("/ids/%d", i), "must not be zero")
	}
	p.entries("/groups", len(s.Groups), MaxSelectionGroups)
	for i, id := range s.Groups {
		p.when(id <= 0, fmt.Sprintf("/groups/%d", i), "is not the ID of a group")
	}
	p.text("/source", s.Source, task.MaxName)
	p.text("/origin", s.Origin, task.MaxName)
	p.text("/template", s.Template, task.MaxName)
	p.oneOf("/state", string(s.State), words(model.LetterStates)...)
	p.text("/type", s.Type, task.MaxName)
	p.text("/text", s.Text, MaxText)
	p.text("/header_name", s.HeaderName, task.MaxName)
	p.text("/header_value", s.HeaderValue, MaxText)
	p.when(s.HeaderValue != "" && s.HeaderName == "", "/header_value", "needs header_name")
	p.time("/after", s.After)
	p.time("/before", s.Before)
	p.when(s.After != 0 && s.Before != 0 && s.Before <= s.After, "/before", "must be later than after")
	p.time("/first_after", s.FirstAfter)
	p.time("/first_before", s.FirstBefore)
	p.when(s.FirstAfter != 0 && s.FirstBefore != 0 && s.FirstBefore <= s.FirstAfter, "/first_before",
		"must be later than first_after")
	p.between("/min_replays", float64(s.MinReplays), 0, MaxReplayCount)
	p.when(s.MinReplays > 0 && s.Replayed != nil && !*s.Replayed, "/replayed", "excludes what min_replays selects")
	p.oneOf("/reason", string(s.Reason), words(task.CaseReasons)...)
	p.oneOf("/task_state", string(s.TaskState), words(task.States)...)
	s.cross(&p)
	return p
}

func (s *Selection) cross(p *problems) {
	if s.Kind == model.KindCase {
		p.when(s.Source != "", "/source", "restricts letters, and kind is case")
		p.when(s.Origin != "", "/origin", "restricts letters, and kind is case")
		p.when(s.HeaderName != "", "/header_name", "restricts letters, and kind is case")
	}
	if s.Kind == model.KindLetter {
		p.when(s.Template != "", "/template", "restricts cases, and kind is letter")
		p.when(s.Reason != "", "/reason", "restricts cases, and kind is letter")
		p.when(s.TaskState != "", "/task_state", "restricts cases, and kind is letter")
	}
}
