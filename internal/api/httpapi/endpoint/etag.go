package endpoint

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
)

// etagOf returns the ETag of an answer in quotes, "" for none. It identifies the state of the object, not the bytes of
// the answer. field is from etagField.
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

func etagHeader() *huma.Param {
	return &huma.Param{
		Description: "ETag of the returned state. Send it as If-Match with an act to refuse the act after " +
			"a change.",
		Schema: &huma.Schema{Type: huma.TypeString}}
}

// Match is the precondition of an act, to embed in its parameters. Add joins it with the IfMatch of the body or the
// GivenMatch of the query.
type Match struct {
	IfMatch string `header:"If-Match" maxLength:"1024" doc:"Expected ETag, several separated by commas, or *. If the ETag has changed, the act is refused with conflict."`
}

// precondition has the two places of a precondition: the header If-Match and, for clients that cannot set headers,
// IfMatch of the body or GivenMatch of the query.
type precondition struct {
	header, given []int
	inBody        bool // given is a field of the body
}

func preconditionOf(params, body reflect.Type) *precondition {
	header, has := params.FieldByName("IfMatch")
	if !has || header.Tag.Get("header") == "" {
		return nil
	}
	if given, has := body.FieldByName("IfMatch"); has {
		return &precondition{header.Index, given.Index, true}
	}
	if given, has := params.FieldByName("GivenMatch"); has {
		return &precondition{header.Index, given.Index, false}
	}
	return nil
}

// settle writes the precondition to both places, or refuses two different ones.
func (p *precondition) settle(params, body any) error {
	if p == nil {
		return nil
	}
	header := reflect.ValueOf(params).Elem().FieldByIndex(p.header)
	if !p.inBody {
		body = params
	}
	given := reflect.ValueOf(body).Elem().FieldByIndex(p.given)
	switch {
	case given.String() == "":
		given.SetString(header.String())
	case header.String() == "":
		header.SetString(given.String())
	case header.String() != given.String():
		e := tasker.Errorf(tasker.CodeInvalid, "the request names two preconditions")
		e.Details = []tasker.Detail{{Location: "/if_match",
			Message: "must be what the header If-Match says, or be left out"}}
		return e
	}
	return nil
}
