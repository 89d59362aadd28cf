package endpoint

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

const (
	jsonType = "application/json"
)

// Names of the security schemes in the OpenAPI document.
const (
	keyScheme    = "apiKey"
	bearerScheme = "bearer"
)

// apiConfig has none of huma's own routes: huma's page loads from elsewhere, and huma builds the document during
// requests without a lock.
func apiConfig(a *API) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Tasker",
				Version: "v1",
				Description: "Durable tasks and workflows. Bodies are JSON in UTF-8; the server refuses unknown names. " +
					"Every error is a problem (RFC 9457) with a code from the list x-problems.",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas:   a.registry,
				Responses: refusalComponents(a.registry),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					keyScheme:    {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key, tsk_..."},
					bearerScheme: {Type: "http", Scheme: "bearer", Description: "The same key as a bearer token."},
				},
			},
			Tags:       tagList(),
			Extensions: map[string]any{"x-problems": web.ProblemKinds()},
		},
		Formats:       map[string]huma.Format{jsonType: huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: jsonType,
		Transformers:  []huma.Transformer{translate},
	}
}

func securityOf(needs []access.Permission) []map[string][]string {
	if len(needs) == 0 {
		return []map[string][]string{}
	}
	return []map[string][]string{{keyScheme: {}}, {bearerScheme: {}}}
}

func showExamples(document *huma.OpenAPI, text []byte) error {
	var examples map[string]any
	if err := json.Unmarshal(text, &examples); err != nil {
		return fmt.Errorf("decode examples: %w", err)
	}
	for _, path := range document.Paths {
		for _, op := range []*huma.Operation{path.Post, path.Patch} {
			if op == nil || op.RequestBody == nil || examples[op.OperationID] == nil {
				continue
			}
			for _, content := range op.RequestBody.Content {
				content.Example = examples[op.OperationID]
			}
		}
	}
	return nil
}

// Document completes the OpenAPI document and returns functions that encode it in both notations. Call it once, after
// all operations are added: the steps build on each other, and the shapes of bodies are compiled before null is
// allowed. The functions encode at their first call, which takes some ten milliseconds, and are safe for concurrent
// use. Their errors mean that a type cannot be described, or that examples is not a JSON object of bodies by operation
// ID.
func (a *API) Document(examples []byte) (asJSON, asYAML func() ([]byte, error)) {
	// openUp and allowNull differ for requests and answers, so they need all schemas.
	settle(a.registry)
	openUp(a.registry, a.requests)
	narrowMetadata(a.registry)
	allowNull(a.registry, a.requests)
	complete := sync.OnceValues(func() (*huma.OpenAPI, error) {
		return a.huma.OpenAPI(), showExamples(a.huma.OpenAPI(), examples)
	})
	asJSON = sync.OnceValues(func() ([]byte, error) {
		document, err := complete()
		if err != nil {
			return nil, err
		}
		text, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode OpenAPI document: %w", err)
		}
		return append(text, '\n'), nil
	})
	asYAML = sync.OnceValues(func() ([]byte, error) {
		document, err := complete()
		if err != nil {
			return nil, err
		}
		text, err := document.YAML()
		if err != nil {
			return nil, fmt.Errorf("encode OpenAPI document as YAML: %w", err)
		}
		return text, nil
	})
	return asJSON, asYAML
}
