package public

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// reader converts what a caller sends, and collects what cannot be converted, so that a request with three faults is
// refused once with three details. The rules about values that can be converted are those of package inbox. The zero
// value is ready; use one per request, convert everything, and then ask err.
type reader struct{ problems []tasker.Detail }

// bad adds a fault at a place: a JSON pointer into the body, or "path.NAME" and "query.NAME". "" is no fault.
func (r *reader) bad(at, fault string) {
	if fault != "" {
		r.problems = append(r.problems, tasker.Detail{Location: at, Message: fault})
	}
}

// inQuery moves the places of a selection in a body to those of the query of a list, where groups are "group_id".
func (r *reader) inQuery() {
	for i, p := range r.problems {
		if at, ok := strings.CutPrefix(p.Location, "/"); ok {
			name, _, _ := strings.Cut(at, "/")
			if name == "groups" {
				name = "group_id"
			}
			r.problems[i].Location = "query." + name
		}
	}
}

// err returns the refusal of the request, nil if everything could be converted.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the request cannot be read; nothing was changed",
		Details: r.problems}
}

// text returns s, and notes characters in it that break logs and terminals. Names allow no line breaks, prose does. Its
// length is checked by the inbox.
func (r *reader) text(at, s string, prose bool) string {
	r.bad(at, task.CharacterFault(s, prose))
	return s
}

// filterTime converts a bound of a filter, where the zero time is no bound.
func (r *reader) filterTime(at string, t time.Time) task.Instant {
	if t.IsZero() {
		return 0
	}
	r.bad(at, task.TimeFault(t))
	return task.FromTime(t)
}

// optionalTime converts a time that may be missing; nil is 0.
func (r *reader) optionalTime(at string, t *time.Time) task.Instant {
	if t == nil {
		return 0
	}
	r.bad(at, task.TimeFault(*t))
	return task.FromTime(*t)
}

// maxSeconds keeps a duration within the range of time.Duration: 100 years. The rules of each field are far below.
const maxSeconds = 100 * 365 * 24 * 60 * 60

// seconds converts a number of seconds, 0 to maxSeconds, with a fraction down to a nanosecond.
func (r *reader) seconds(at string, s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > maxSeconds {
		r.bad(at, "must be 0 to "+strconv.Itoa(maxSeconds)+" seconds")
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// group converts the ID of a group: 16 hex digits.
func (r *reader) group(at, id string) deadletter.GroupID {
	g, err := deadletter.ParseGroupID(id)
	if err != nil {
		r.bad(at, err.Error())
	}
	return g
}

// groups converts a list of them; the index is part of the place of a fault.
func (r *reader) groups(at string, ids []string) []deadletter.GroupID {
	var out []deadletter.GroupID
	for i, id := range ids {
		out = append(out, r.group(at+"/"+strconv.Itoa(i), id))
	}
	return out
}

// cursor converts the cursor of a list whose pages continue below an ID.
func (r *reader) cursor(s string) task.ID {
	if s == "" {
		return task.ID{}
	}
	id, err := task.ParseID(s)
	if err != nil {
		r.bad("query.cursor", "must be next_cursor of the previous page")
	}
	return id
}

// number converts the cursor of a list whose pages continue above a number.
func (r *reader) number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		r.bad("query.cursor", "must be next_cursor of the previous page")
	}
	return int(n)
}

// by converts an act, which is on one version of an object.
func (r *reader) by(a deadletters.Act) inbox.By {
	version, fault := task.MatchOne(a.IfMatch)
	r.bad("/if_match", fault)
	return inbox.By{Actor: a.Actor, Reason: a.Reason, Version: version}
}

func ids(of []uuid.UUID) []task.ID {
	var out []task.ID
	for _, id := range of {
		out = append(out, task.ID(id))
	}
	return out
}

// defaultNamespace is the namespace of an object that names none.
const defaultNamespace = "default"

// timeOfDay converts HH:MM, in UTC, to the time since midnight.
func (r *reader) timeOfDay(at, s string) time.Duration {
	t, err := deadletter.ParseTimeOfDay(s)
	if err != nil {
		r.bad(at, err.Error())
	}
	return t
}
