package endpoint

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/strictjson"
	"github.com/taskerhq/tasker/internal/api/web"
)

// keptBuffer bounds the buffers kept for reuse, in bytes: one huge batch must not stay in memory.
const keptBuffer = 1 << 20

// TextBody is a body that may also arrive as the bare text of a document.
type TextBody interface {
	SetText(string)
}

type bodyReader struct {
	limit    int64
	schema   *huma.Schema
	shape    *strictjson.Shape
	optional bool                     // a missing body means {}
	newBody  func() any               // returns a pointer to a zero body
	salvage  func([]byte) (any, bool) // see salvager; nil for most bodies
	buffers  *sync.Pool
	front    *web.Front
}

func newBodyReader[B any](a *API, e Endpoint) *bodyReader {
	schema := SchemaOf[B](a.registry)
	settle(a.registry) // before compiling, so that the shape matches the document
	b := &bodyReader{
		limit: a.bodyBytes, schema: schema, shape: a.shapes.Compile(schema),
		optional: e.is(BodyOptional), newBody: func() any { return new(B) }, buffers: &a.buffers, front: a.front,
	}
	if v, can := b.newBody().(Salvageable); can {
		b.salvage = v.Salvager()
	}
	if e.is(Batch) {
		b.limit = a.batchBodyBytes
	}
	if e.is(Letters) {
		b.limit = max(a.batchBodyBytes, a.letterBodyBytes)
	}
	return b
}

func (b *bodyReader) document() *huma.RequestBody {
	content := map[string]*huma.MediaType{jsonType: {Schema: b.schema}}
	if _, ok := b.newBody().(TextBody); ok {
		for _, name := range []string{"application/yaml", "text/yaml"} {
			content[name] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString,
				Description: "The template document itself."}}
		}
	}
	return &huma.RequestBody{Required: !b.optional, Content: content}
}

// read returns the decoded body. Requests share buffers; the front bounds the memory of all bodies together.
func (b *bodyReader) read(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.ContentLength == 0 {
		return b.decode(nil, false)
	}
	asText, err := b.contentType(r.Header)
	if err != nil {
		return nil, err
	}
	buf := b.buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keptBuffer {
			b.buffers.Put(buf)
		}
	}()
	buf.Reset()
	if err := b.front.ReadBody(buf, w, r, b.limit); err != nil {
		return nil, err
	}
	return b.decode(buf.Bytes(), asText)
}

// decode salvages a body that breaks a rule if its type supports that. The error lists all faults, each with a JSON
// pointer.
func (b *bodyReader) decode(data []byte, asText bool) (any, error) {
	v := b.newBody()
	switch {
	case asText:
		v.(TextBody).SetText(string(data)) // its own parser checks it
		return v, nil
	case len(bytes.TrimSpace(data)) > 0:
		err := strictjson.Decode(data, b.shape, v)
		if err == nil {
			return v, nil
		}
		if b.salvage != nil {
			if salvaged, can := b.salvage(data); can {
				return salvaged, nil
			}
		}
		return nil, err
	case b.optional && len(data) == 0: // white space alone is not JSON
		return v, nil
	}
	return nil, tasker.Errorf(tasker.CodeInvalid, "a body is required")
}

// contentType requires the header: without it a web page could post here without a preflight request.
func (b *bodyReader) contentType(h http.Header) (asText bool, err error) {
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return false, unsupported("the body is encoded as %q; send it as it is", encoding)
	}
	header := h.Get("Content-Type")
	if header == jsonType { // the usual case
		return false, nil
	}
	name, parameters, err := mime.ParseMediaType(header)
	if charset, given := parameters["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return false, unsupported("the body's charset is %q, not utf-8", charset)
	}
	_, takesText := b.newBody().(TextBody)
	switch {
	case err == nil && name == jsonType:
		return false, nil
	case err == nil && takesText && (name == "application/yaml" || name == "text/yaml" || name == "application/x-yaml"):
		return true, nil
	}
	return false, unsupported("the body's type is %q, not %s", header, jsonType)
}

// unsupported answers 415 with the code invalid; there is no separate code.
func unsupported(format string, args ...any) error {
	err := tasker.Errorf(tasker.CodeInvalid, format, args...)
	err.Hint = "set the header Content-Type: application/json"
	return &web.StatusError{Status: http.StatusUnsupportedMediaType, Err: err}
}
