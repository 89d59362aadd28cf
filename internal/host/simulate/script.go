package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Script defines the results of workers' steps and the decisions of operators. A missing step completes without a
// result.
type Script struct {
	Context json.RawMessage `json:"context"` // of the task
	Steps   map[string]Act  `json:"steps"`   // by name
}

// Act is the behaviour of a step: it fails as Fail says, and then completes with Result.
type Act struct {
	Result json.RawMessage `json:"result"`
	Fail   *Fail           `json:"fail"`
	// Approve or Reject is the reason of a decision on an approval.
	Approve *string `json:"approve"`
	Reject  *string `json:"reject"`
}

// Fail is a failure of a step.
type Fail struct {
	Message   string `json:"message"`
	Code      string `json:"code"`
	Type      string `json:"type"`
	Retryable *bool  `json:"retryable"` // default true
	Times     int    `json:"times"`     // 0: always
}

func (f *Fail) failure() *task.Failure {
	return &task.Failure{Message: f.Message, Code: f.Code, Type: f.Type, Retryable: f.Retryable == nil || *f.Retryable}
}

var limits = document.Limits{Marks: 1_000_000, Entries: 50_000, Depth: 200, Nodes: 1_000_000, Merged: 100_000,
	Digits: 1000}

var (
	scriptKeys = []string{"context", "steps"}
	actKeys    = []string{"result", "fail", "approve", "reject"}
	failKeys   = []string{"message", "code", "type", "retryable", "times"}
)

// ReadScript reads YAML or JSON. The error is a *tasker.Error with every problem at filename:line:column.
func ReadScript(filename string, src []byte) (*Script, error) {
	r := reader{file: filename}
	root := document.Parse(src, document.Options{What: "a script", Limits: limits, Report: r.report})
	out := &Script{}
	if root != nil && len(r.problems) == 0 {
		r.check(root)
	}
	if root != nil && len(r.problems) == 0 {
		r.decode(root, out)
	}
	if len(r.problems) > 0 {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: filename + " has problems", Details: r.problems}
	}
	return out, nil
}

type reader struct {
	file     string
	problems []tasker.Detail
}

func (r *reader) report(at document.Position, message string) {
	r.problems = append(r.problems, tasker.Detail{Location: fmt.Sprintf("%s:%d:%d", r.file, at.Line, at.Column),
		Message: message})
}

func (r *reader) check(root *document.Node) {
	r.mapping(root, "a script", scriptKeys)
	steps := root.Get("steps")
	if steps == nil || steps.Kind == document.Null {
		return
	}
	r.mapping(steps, "steps", nil)
	for _, p := range steps.Pairs {
		r.mapping(p.Value, "step "+wording.Quoted(p.Key), actKeys)
		if fail := p.Value.Get("fail"); fail != nil {
			r.mapping(fail, "fail", failKeys)
			if m := fail.Get("message"); m == nil || m.Text == "" {
				r.report(fail.At, "fail needs a message")
			}
		}
		if p.Value.Get("approve") != nil && p.Value.Get("reject") != nil {
			r.report(p.At, "give approve or reject, not both")
		}
	}
}

func (r *reader) mapping(n *document.Node, what string, keys []string) {
	if n.Kind != document.Mapping {
		r.report(n.At, fmt.Sprintf("%s must be a mapping, not %s", what, n.Kind))
		return
	}
	for _, p := range n.Pairs {
		if keys == nil || slices.Contains(keys, p.Key) {
			continue
		}
		message := fmt.Sprintf("%s has no key %s", what, wording.Quoted(p.Key))
		if near := wording.Nearest(p.Key, keys, 3); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		r.report(p.At, message)
	}
}

// decode reads the checked document part by part, so that a value of the wrong type has its place.
func (r *reader) decode(root *document.Node, out *Script) {
	if n := root.Get("context"); n != nil {
		r.into(n, "context", &out.Context)
	}
	steps := root.Get("steps")
	if steps == nil {
		return
	}
	out.Steps = map[string]Act{}
	for _, p := range steps.Pairs {
		var a Act
		r.into(p.Value, "step "+wording.Quoted(p.Key), &a)
		if a.Fail != nil && a.Fail.Times < 0 {
			r.report(p.Value.Follow("/fail/times").At, "times must not be negative")
		}
		out.Steps[p.Key] = a
	}
}

func (r *reader) into(n *document.Node, what string, out any) {
	text, err := json.Marshal(n.Value())
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(out)
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &wrong):
		at := n.Follow("/" + strings.ReplaceAll(wrong.Field, ".", "/"))
		r.report(at.At, fmt.Sprintf("%s of %s must not be %s", wrong.Field, what, at.Kind))
	default:
		r.report(n.At, what+": "+err.Error())
	}
}
