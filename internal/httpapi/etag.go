package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/queueapi"
	"github.com/taskerhq/tasker/operate"
)

// etagOf returns the ETag of an answer, "" for one without. It identifies the state of the object, not the bytes of the
// answer: an act with If-Match is refused once the object has changed.
func etagOf(body any) string {
	var etag string
	switch v := body.(type) {
	case *tasker.Task:
		etag = v.ETag
	case *queueapi.QueueTask:
		etag = v.ETag
	case *tasker.Step:
		etag = v.ETag
	case *operate.Case:
		etag = v.ETag
	}
	if etag == "" {
		return ""
	}
	return `"` + etag + `"`
}

// hasETag reports whether answers of a type have one.
func hasETag[R any]() bool {
	var body R
	switch any(body).(type) {
	case *tasker.Task, *queueapi.QueueTask, *tasker.Step, *operate.Case:
		return true
	}
	return false
}

// etagHeader documents the header.
func etagHeader() *huma.Param {
	return &huma.Param{
		Description: "ETag of the returned state. Send it as If-Match with an act to refuse the act after " +
			"a change.",
		Schema: &huma.Schema{Type: huma.TypeString}}
}

// Match is the precondition of an act. It is exported for the same reason as TaskPath.
type Match struct {
	IfMatch string `header:"If-Match" maxLength:"1024" doc:"Expected ETag, several separated by commas, or *. If the ETag has changed, the act is refused with conflict."`
}

// with returns the precondition of a request, which may be in the header, in the body or the query, or the same in
// both.
func (m Match) with(given string) (string, error) {
	switch {
	case given == "" || given == m.IfMatch:
		return m.IfMatch, nil
	case m.IfMatch == "":
		return given, nil
	}
	e := tasker.Errorf(tasker.CodeInvalid, "the request names two preconditions")
	e.Details = []tasker.Detail{{Location: "/if_match", Message: "must be what the header If-Match says, or be left out"}}
	return "", e
}
