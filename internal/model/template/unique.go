package template

import (
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/model/task"
)

// unique keeps the rule with its defaults, so that an explicit one does not change the meaning.
func (r *reader) unique(v *document.Node) *task.Unique {
	if v == nil {
		return nil
	}
	f, ok := r.open(v, "unique")
	if !ok {
		return nil
	}
	before := len(r.found)
	q := &task.Unique{By: f.words("by"), While: f.words("while")}
	if p := f.get("period"); p != nil {
		d, err := time.ParseDuration(f.text("period", p))
		if err != nil || d == 0 {
			d = -1
		}
		q.Period = d
	}
	if c := f.get("on_conflict"); c != nil {
		q.OnConflict = task.OnConflict(f.text("on_conflict", c))
	}
	if len(r.found) > before {
		return nil
	}
	for _, fault := range q.Faults("") {
		key, _, _ := strings.Cut(fault.Location[1:], "/")
		f.report(f.get(key).At, "%s %s", strings.ReplaceAll(fault.Location[1:], "/", " "), fault.Message)
	}
	out := q.Resolved()
	return &out
}

// words reads a text or a list of texts.
func (f fields) words(key string) []string {
	v := f.get(key)
	switch {
	case v == nil:
		return nil
	case v.Kind == document.Text:
		return []string{v.Text}
	}
	var out []string
	for _, item := range f.list(key) {
		out = append(out, f.text(key, item))
	}
	return out
}
