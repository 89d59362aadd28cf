package deadletter

import (
	"fmt"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/task"
)

// The bounds of a selection.
const (
	MaxSelectionIDs    = 1000
	MaxSelectionGroups = 100
	MaxText            = 1000 // bytes
	MaxReplayCount     = 1000
)

// SelectsLetters reports whether a selection can select letters: they belong to no template, and have no task.
func (s *Selection) SelectsLetters() bool {
	return s.Kind != model.KindCase && s.Template == "" && s.Reason == "" && s.TaskState == ""
}

// Validate returns the problems of a selection, each at a JSON pointer within it.
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

// cross adds the problems of restrictions that exclude each other: such a selection selects nothing, whatever there is.
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
