package endpoint

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/taskerhq/tasker/internal/api/strictjson"
	"github.com/taskerhq/tasker/internal/api/web"
)

// API is a set of operations over HTTP and their OpenAPI document. Add operations first, then call Complete, then
// serve; then it is safe for concurrent use.
type API struct {
	front *web.Front
	mask  Mask // nil: nothing is sensitive

	bodyBytes, batchBodyBytes, letterBodyBytes int64

	mux      *http.ServeMux
	huma     huma.API
	registry huma.Registry
	shapes   *strictjson.Compiler
	requests []*huma.Schema               // of all bodies
	hot      map[string]bool              // by pattern
	methods  map[string][]string          // of the operations, by path
	typed    map[string][]string          // by operation: parameters for which empty text is not a value
	integers map[string][]string          // by operation: integer parameters of the query
	lists    map[string][]string          // by operation: parameters of the query that may repeat
	older    map[string]map[string]string // by path: former names of parameters

	buffers sync.Pool
}

// New returns an API without operations. front checks API keys and refuses requests; the limits, in bytes, bound the
// bodies of operations with one object, with many, and with dead letters.
func New(front *web.Front, bodyBytes, batchBodyBytes, letterBodyBytes int64) *API {
	a := &API{
		front: front, bodyBytes: bodyBytes, batchBodyBytes: batchBodyBytes, letterBodyBytes: letterBodyBytes,
		mux: http.NewServeMux(), registry: newRegistry(), hot: map[string]bool{}, methods: map[string][]string{},
		typed: map[string][]string{}, integers: map[string][]string{}, lists: map[string][]string{},
		older: map[string]map[string]string{}, buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	a.shapes = strictjson.NewCompiler(a.registry)
	a.huma = humago.New(a.mux, apiConfig(a))
	return a
}

// MaskWith makes every answer pass a Mask. Call it before operations are added.
func (a *API) MaskWith(m Mask) { a.mask = m }

// Handle adds a route outside the document. A quiet one is logged at level debug.
func (a *API) Handle(pattern string, quiet bool, h http.Handler) {
	a.mux.Handle(pattern, h)
	a.hot[pattern] = quiet
}

// Quiet reports whether requests to a pattern are logged at level debug only.
func (a *API) Quiet(pattern string) bool { return a.hot[pattern] }

// Complete answers requests without a route: 405 if the path has other methods, else 404. Call it after all operations
// are added.
func (a *API) Complete() {
	a.guardLiterals()
	a.mux.HandleFunc("/", a.unknownRoute)
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }
