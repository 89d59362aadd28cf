package rule

import (
	"strings"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
)

// maxFact bounds the bytes of a text that an expression reads.
const maxFact = 4 << 10

// facts are the names of an expression.
type facts struct {
	Kind      string              `expr:"kind"` // letter or case
	Type      string              `expr:"error_type"`
	Code      string              `expr:"code"`
	Message   string              `expr:"message"`
	Class     string              `expr:"class"`
	Retryable bool                `expr:"retryable"`
	Frame     string              `expr:"frame"` // top frame of the application's own code
	Handler   string              `expr:"handler"`
	Source    string              `expr:"source"`
	Origin    string              `expr:"origin"`
	Template  string              `expr:"template"`
	Step      string              `expr:"step"`
	Reason    string              `expr:"reason"` // why a task is stuck
	Header    func(string) string `expr:"header"`
}

func factsOf(f *deadletter.Facts) facts {
	return facts{Kind: string(f.Kind), Type: bounded(f.Failure.Type), Code: bounded(f.Failure.Code),
		Message: bounded(f.Failure.Message), Class: string(failure.ClassOf(f.Failure)), Retryable: f.Failure.Retryable,
		Frame: f.Frame, Handler: bounded(f.Handler), Source: f.Source, Origin: bounded(f.Origin), Template: f.Template,
		Step: f.Step, Reason: f.Reason, Header: func(name string) string {
			for _, h := range f.Headers {
				if h.Name == name {
					return bounded(string(h.Value[:min(len(h.Value), maxFact)]))
				}
			}
			return ""
		}}
}

func bounded(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxFact)], "\uFFFD") }

// normalize replaces the parts of a message that vary by marks, as in a fingerprint.
func normalize(params ...any) (any, error) {
	text, _ := params[0].(string)
	return failure.Normalise(text), nil
}

// extract returns the first group of a regular expression in a text, or the whole match without a group; "" without
// a match.
func (c *checker) extract(params ...any) (any, error) {
	text, _ := params[0].(string)
	pattern, _ := params[1].(string)
	found := c.patterns[pattern].FindStringSubmatch(text)
	switch {
	case found == nil:
		return "", nil
	case len(found) > 1:
		return found[1], nil
	}
	return found[0], nil
}
