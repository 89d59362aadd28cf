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

// keptBuffer bounds the buffers kept for later bodies, in bytes, so that one huge batch does not stay in memory for
// ever.
const keptBuffer = 1 << 20

// TextBody is a body that may also arrive as the bare text of a document.
type TextBody interface {
	SetText(string)
}

// bodyReader reads and decodes the bodies of one operation.
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

// newBodyReader compiles the schema of B once, when the route is added, and chooses the limit of the operation.
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

// document describes the body for OpenAPI.
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

// read returns the decoded body of a request. The buffer is shared among requests, and the memory of all bodies
// together is bounded by the front.
func (b *bodyReader) read(w http.ResponseWriter, r *http.Request) (any, error) {
	// Without a body no content type is required.
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
	// Decoding copies everything that it keeps, so that the buffer can be reused.
	return b.decode(buf.Bytes(), asText)
}

// decode decodes a body, bare text or JSON. A body that breaks a rule is salvaged if its type can do so. The error
// lists all faults, each with a JSON pointer.
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

// contentType reports whether the body is bare text; otherwise it is JSON. The header is required: without it a web
// page could post here without a preflight request.
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

// unsupported answers 415. Its code is invalid, as there is no code of its own.
func unsupported(format string, args ...any) error {
	err := tasker.Errorf(tasker.CodeInvalid, format, args...)
	err.Hint = "set the header Content-Type: application/json"
	return &web.StatusError{Status: http.StatusUnsupportedMediaType, Err: err}
}
