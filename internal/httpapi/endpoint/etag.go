package endpoint

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
)

// etagOf returns the ETag of an answer in quotes, "" for one without. It identifies the state of the object, not the
// bytes of the answer: an act with If-Match is refused once the object has changed. field is what etagField found for
// the type.
func etagOf(body any, field []int) string {
	object := reflect.ValueOf(body)
	if field == nil || object.IsNil() {
		return ""
	}
	etag := object.Elem().FieldByIndex(field).String()
	if etag == "" {
		return ""
	}
	return `"` + etag + `"`
}

// etagField returns the place of the field ETag in an answer that is a pointer to an object, nil if it has none. It is
// looked up once per operation, when the route is added.
func etagField[R any]() []int {
	t := reflect.TypeFor[R]()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil
	}
	field, has := t.Elem().FieldByName("ETag")
	if !has || field.Type.Kind() != reflect.String {
		return nil
	}
	return field.Index
}

// etagHeader documents the header.
func etagHeader() *huma.Param {
	return &huma.Param{
		Description: "ETag of the returned state. Send it as If-Match with an act to refuse the act after " +
			"a change.",
		Schema: &huma.Schema{Type: huma.TypeString}}
}

// Match is the precondition of an act, to embed in its parameters.
type Match struct {
	IfMatch string `header:"If-Match" maxLength:"1024" doc:"Expected ETag, several separated by commas, or *. If the ETag has changed, the act is refused with conflict."`
}

// With returns the precondition of a request, which may be in the header, in the body or the query, or the same in
// both.
func (m Match) With(given string) (string, error) {
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
