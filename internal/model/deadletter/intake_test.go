package deadletter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func TestIntakeProblems(t *testing.T) {
	t.Parallel()
	many := 1001
	none := -1
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		in   deadletter.Intake
		want string
	}{
		"Valid":       {deadletter.Intake{TaskType: "/a~0b/~1", Delay: "720h", Timeout: 168 * time.Hour}, ""},
		"Nothing":     {deadletter.Intake{}, "/task_type"},
		"Both":        {deadletter.Intake{TaskType: "a", Template: "b"}, "/task_type"},
		"LongType":    {deadletter.Intake{TaskType: long}, "/task_type"},
		"LongPointer": {deadletter.Intake{TaskType: "/" + strings.Repeat("x", 1024)}, "/task_type"},
		"DeepPointer": {deadletter.Intake{TaskType: strings.Repeat("/x", 33)}, "/task_type"},
		"BadPointer":  {deadletter.Intake{TaskType: "/a~2"}, "/task_type"},
		"EndOfTilde":  {deadletter.Intake{TaskType: "/a~"}, "/task_type"},
		"NoHeader":    {deadletter.Intake{Template: "header:"}, "/template"},
		"NoField":     {deadletter.Intake{Template: "message:body"}, "/template"},
		"Control":     {deadletter.Intake{TaskType: "a\x1b"}, "/task_type"},
		"Version":     {deadletter.Intake{TaskType: "a", TemplateVersion: "1"}, "/template_version"},
		"Bounds":      {deadletter.Intake{TaskType: "a", MinPriority: long, MaxPriority: long}, "/min_priority/max_priority"},
		"OneKey":      {deadletter.Intake{TaskType: "a", IdempotencyKey: "k"}, "/idempotency_key"},
		"QueueAsKey":  {deadletter.Intake{TaskType: "a", IdempotencyKey: "message:queue"}, "/idempotency_key"},
		"NoDuration":  {deadletter.Intake{TaskType: "a", Delay: "soon"}, "/delay"},
		"Backwards":   {deadletter.Intake{TaskType: "a", Delay: "-1s"}, "/delay"},
		"LongDelay":   {deadletter.Intake{TaskType: "a", Delay: "721h"}, "/delay"},
		"Input":       {deadletter.Intake{TaskType: "a", Input: "all"}, "/input"},
		"Retries":     {deadletter.Intake{TaskType: "a", MaxRetries: &many}, "/max_retries"},
		"FewRetries":  {deadletter.Intake{TaskType: "a", MaxRetries: &none}, "/max_retries"},
		"Timeout":     {deadletter.Intake{TaskType: "a", Timeout: -1}, "/timeout_seconds"},
		"LongTimeout": {deadletter.Intake{TaskType: "a", Timeout: 721 * time.Hour}, "/timeout_seconds"},
		"Tags":        {deadletter.Intake{TaskType: "a", Tags: make([]string, 33)}, "/tags"},
		"EmptyTag":    {deadletter.Intake{TaskType: "a", Tags: []string{" "}}, "/tags/0"},
		"Loop":        {deadletter.Intake{TaskType: "a", WriteFailures: "q"}, "/on_failure/write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deadletter.Source{Name: "s", Driver: "memory", Queue: "q", Intake: &c.in}.WithDefaults()
			got, last := "", ""
			for _, p := range s.Validate() {
				if at := strings.TrimPrefix(p.Location, "/intake"); p.Message != "" && at != last && len(got) < 40 {
					got, last = got+at, at
				}
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("the problems are at %q, want %q: %v", got, c.want, fmt.Sprint(s.Validate()))
			}
		})
	}
}
