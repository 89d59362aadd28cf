package scenario_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// Every entry point refuses ambiguous names.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := memstore.New(nil)
	w, err := newWorld(t, s, func() engine.Database { return s }, settings.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for what, name := range map[string]string{"LineBreak": "a\nb", "NUL": "a\x00", "Escape": "\x1b[31m",
		"InvalidUTF8": "\xff", "Long": strings.Repeat("n", 256)} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, sub := range []engine.Submission{
				{TaskType: name}, {Name: name}, {TaskType: "h", Namespace: name}, {TaskType: "h", Capabilities: []string{name}},
				{TaskType: "h", IdempotencyKey: name}, {TaskType: "h", CorrelationID: name},
				{TaskType: "h", Meta: task.Meta{Tags: []string{name}}},
				{TaskType: "h", Meta: task.Meta{Initiator: name}},
			} {
				if _, err := w.engine.Submit(w.ctx, []engine.Submission{sub}, false); task.CodeOf(err) != task.Invalid {
					t.Errorf("submit %+v: got the error %v", sub, err)
				}
			}
			for _, worker := range []task.Worker{{Name: name}, {Handlers: []string{name}}, {Capabilities: []string{name}},
				{Namespaces: []string{name}}, {Host: name}} {
				if _, err := w.engine.Register(w.ctx, worker); task.CodeOf(err) != task.Invalid {
					t.Errorf("register %+v: got the error %v", worker, err)
				}
			}
		})
	}
}
