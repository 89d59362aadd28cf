package template

import (
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// tasks reads the child tasks that replace a worker: task for one, for_each for one per item of a list.
func (r *reader) tasks(f fields, at *places) *task.ChildSpec {
	key, other := "task", "for_each"
	if f.get(key) == nil {
		key, other = other, key
	}
	for _, no := range append([]string{other}, ofWorkers...) {
		if v := f.get(no); v != nil {
			f.report(v.At, "a step with %s has no %s: its child tasks have their own", key, no)
		}
	}
	if key == "task" {
		return r.onlyTask(f, at)
	}
	c, ok := r.open(f.get(key), key)
	if !ok {
		return nil
	}
	out := &task.ChildSpec{Items: r.expression(c, "items", at),
		Context:     r.expression(c, "context", at, task.EachItem, task.EachIndex),
		Concurrency: c.whole("concurrency", 1, task.MaxChildren)}
	c.need("items")
	c.target(out)
	c.maxFailed(out)
	c.onError(out)
	if v := c.get("results"); v != nil {
		switch s := c.text("results", v); {
		case v.Kind != document.Text: // reported
		case s == "counts":
			out.CountsOnly = true
		case s != "list":
			c.report(v.At, "results must be list or counts, not %s", wording.Quoted(s))
		}
	}
	return out
}

func (r *reader) onlyTask(f fields, at *places) *task.ChildSpec {
	c, ok := r.open(f.get("task"), "task")
	if !ok {
		return nil
	}
	out := &task.ChildSpec{Context: r.expression(c, "context", at)}
	c.target(out)
	c.onError(out)
	return out
}

func (f fields) target(out *task.ChildSpec) {
	out.Template = f.name("template", f.get("template"), MaxName)
	out.Version = f.name("version", f.get("version"), MaxVersion)
	out.Handler = f.name("handler", f.get("handler"), MaxName)
	switch t, h := f.get("template"), f.get("handler"); {
	case t == nil && h == nil:
		f.report(f.n.At, "%s needs the key %q or %q", f.what, "template", "handler")
	case t != nil && h != nil:
		f.report(h.At, "%s has a template or a handler, not both", f.what)
	case h != nil && f.get("version") != nil:
		f.report(f.get("version").At, "version goes with template")
	}
}

func (f fields) onError(out *task.ChildSpec) {
	v := f.get("on_error")
	if v == nil {
		return
	}
	switch s := f.text("on_error", v); {
	case v.Kind != document.Text: // reported
	case s == "fail":
		out.FailOnError = true
	case s != "wait":
		f.report(v.At, "on_error must be wait or fail, not %s", wording.Quoted(s))
	}
}

// maxFailed reads how many children may fail: a number, or a share such as 10%.
func (f fields) maxFailed(out *task.ChildSpec) {
	v := f.get("max_failed")
	if v == nil {
		return
	}
	if v.Kind != document.Text {
		out.MaxFailed = f.whole("max_failed", 0, task.MaxChildren)
		return
	}
	digits, found := strings.CutSuffix(v.Text, "%")
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < 0 || n > 100 || strings.HasPrefix(digits, "+") {
		f.report(v.At, "max_failed must be a number, or 0%% to 100%%, not %s", wording.Quoted(v.Text))
		return
	}
	out.MaxFailed, out.Percent = n, true
}
