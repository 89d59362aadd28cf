package template

import (
	"time"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ofWorkers are the keys of steps for workers.
var ofWorkers = []string{"handler", "retry", "timeout_seconds", "required_capabilities", "dispatch_ttl_ms",
	"concurrency", "rate_limit"}

func (r *reader) wait(f fields) *task.Wait {
	for _, key := range append([]string{"task", "for_each"}, ofWorkers...) {
		if v := f.get(key); v != nil {
			f.report(v.At, "a step with wait has no %s: no worker runs it", key)
		}
	}
	w, ok := r.open(f.get("wait"), "wait")
	if !ok {
		return nil
	}
	kinds := 0
	for _, key := range []string{"for", "until", "approval", "signal"} {
		if w.get(key) != nil {
			kinds++
		}
	}
	if kinds != 1 {
		w.report(w.n.At, "wait needs exactly one of for, until, approval and signal")
		return nil
	}
	out := &task.Wait{For: w.duration("for"), Until: w.until(), Timeout: w.duration("timeout"),
		OnTimeout: w.onEnd("on_timeout"), OnReject: w.onEnd("on_reject")}
	if v := w.get("approval"); v != nil {
		out.Approval = w.text("approval", v)
		if fault := task.TextFault(out.Approval, task.MaxApproval); fault != "" {
			w.report(v.At, "approval %s", fault)
		} else if out.Approval == "" && v.Kind == document.Text {
			w.report(v.At, "approval must say what is to be approved")
		}
	}
	w.signal(out)
	timed := w.get("for") != nil || w.get("until") != nil
	for key, goes := range map[string]bool{"timeout": !timed, "on_timeout": w.get("timeout") != nil && !timed,
		"on_reject": w.get("approval") != nil,
		"key":       w.get("signal") != nil} {
		if v := w.get(key); v != nil && !goes {
			w.report(v.At, "%s has no meaning here: %s", key, meaning[key])
		}
	}
	return out
}

// meaning explains which keys a key of a wait needs.
var meaning = map[string]string{"timeout": "it goes with approval and signal", "on_timeout": "it goes with timeout",
	"on_reject": "it goes with approval", "key": "it goes with signal"}

func (f fields) signal(out *task.Wait) {
	v, k := f.get("signal"), f.get("key")
	if v == nil {
		return
	}
	out.Signal = f.text("signal", v)
	if fault := task.SignalFault(out.Signal); fault != "" && v.Kind == document.Text {
		f.report(v.At, "signal %s", fault)
	}
	if k == nil {
		f.report(f.n.At, "a wait for a signal needs a key, such as {{order_id}}: it tells one task's signal from another's")
		return
	}
	out.Key = f.text("key", k)
	key, err := limit.ParseKey(out.Key)
	switch {
	case k.Kind != document.Text: // reported
	case err != nil:
		f.report(k.At, "key %v", err)
	case key.Constant():
		if fault := task.SignalFault(out.Key); fault != "" {
			f.report(k.At, "key %s", fault)
		}
	}
}

// duration reads a positive duration up to the bound of waits, 0 if absent.
func (f fields) duration(key string) time.Duration {
	v := f.get(key)
	if v == nil {
		return 0
	}
	text := f.text(key, v)
	d, err := time.ParseDuration(text)
	switch {
	case v.Kind != document.Text: // reported
	case err != nil:
		f.report(v.At, "%s must be a duration like 90s or 48h, not %s", key, wording.Quoted(text))
	case d < time.Second || d > task.MaxWait:
		f.report(v.At, "%s must be 1s to %s", key, wording.Quoted(task.MaxWait.String()))
	}
	return d
}

func (f fields) until() string {
	v := f.get("until")
	s := f.text("until", v)
	if s == "" {
		if v != nil && v.Kind == document.Text {
			f.report(v.At, "until must not be empty")
		}
		return ""
	}
	key, err := limit.ParseKey(s)
	if err == nil && key.Constant() {
		if _, bad := time.Parse(time.RFC3339, s); bad != nil {
			f.report(v.At, "until must be an RFC 3339 time like 2030-01-31T09:00:00Z, or the place of one like {{deliver_at}}")
		}
	}
	if err != nil {
		f.report(v.At, "until %v", err)
	}
	return s
}

func (f fields) onEnd(key string) task.OnEnd {
	v := f.get(key)
	if v == nil {
		return ""
	}
	end := task.OnEnd(f.text(key, v))
	switch {
	case end == task.EndFails: // the default means the same as its absence
		return ""
	case v.Kind == document.Text && end != task.EndContinues:
		f.report(v.At, "%s must be fail or continue, not %s", key, wording.Quoted(v.Text))
	}
	return end
}
