package scheduling

import (
	"cmp"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/schedules"
)

type reader struct{ problems []tasker.Detail }

func (r *reader) bad(at, fault string) {
	if fault != "" {
		r.problems = append(r.problems, tasker.Detail{Location: at, Message: fault})
	}
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the request cannot be read; nothing was changed",
		Details: r.problems}
}

func (r *reader) by(a schedules.ScheduleAct) scheduler.By {
	version, fault := task.MatchOne(a.IfMatch)
	r.bad("/if_match", fault)
	return scheduler.By{Actor: a.Actor, Reason: a.Reason, Version: version}
}

func (r *reader) time(at string, t *time.Time) task.Instant {
	if t == nil {
		return 0
	}
	r.bad(at, task.TimeFault(*t))
	return task.At(*t)
}

func (r *reader) limit(asked, most int) int {
	if asked < 0 || asked > most {
		r.bad("query.limit", "must be 1 to "+strconv.Itoa(most))
	}
	return cmp.Or(asked, min(defaultPage, most))
}

func (r *reader) names(cursor string) (namespace, name string) {
	if cursor == "" {
		return "", ""
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, name, ok := strings.Cut(string(b), "\x00")
	fault := task.TextFault(namespace, task.MaxName) + task.TextFault(name, task.MaxName)
	if err != nil || !ok || namespace == "" || fault != "" {
		r.bad("query.cursor", "is not a cursor of this list")
	}
	return namespace, name
}

// spec converts a schedule; the domain judges values within the range of the types.
func (r *reader) spec(s *schedules.Spec) *schedule.Spec {
	if math.IsNaN(s.Jitter) || s.Jitter < 0 || s.Jitter > schedule.MaxJitter.Seconds() {
		r.bad("/jitter_seconds", "must be 0 to "+strconv.Itoa(int(schedule.MaxJitter.Seconds())))
	}
	for at, seconds := range map[string]int{"/grace_seconds": s.Grace, "/timeout_seconds": s.TimeoutSeconds} {
		if seconds < 0 || seconds > 1<<30 {
			r.bad(at, "is out of range")
		}
	}
	return &schedule.Spec{Namespace: cmp.Or(s.Namespace, defaultNamespace), Name: s.Name, Description: s.Description,
		Cron: s.Cron, Zone: s.TimeZone, Jitter: time.Duration(s.Jitter*1000) * time.Millisecond,
		Start: r.time("/start_at", s.StartAt), End: r.time("/end_at", s.EndAt), Overlap: schedule.Overlap(s.Overlap),
		Missed: schedule.Missed(s.Missed), MissedLimit: s.MissedLimit, Grace: time.Duration(s.Grace) * time.Second,
		Template: s.Template, Version: s.TemplateVersion, TaskType: s.TaskType, Context: s.Context, TimeField: s.TimeField,
		Priority: string(s.Priority), Tags: s.Tags, OrderingKey: s.OrderingKey, Capabilities: s.RequiredCapabilities,
		Timeout: time.Duration(s.TimeoutSeconds) * time.Second, MaxRetries: s.MaxRetries}
}
