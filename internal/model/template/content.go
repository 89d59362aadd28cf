package template

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/model/task"
)

// content is the meaning of a document, as its fingerprint covers it: without comments, formatting, the order of
// keys and dependencies, and explicit defaults.
//
// Priorities stay as written, because resolved ones would depend on the server's table. Metadata has no effect on
// tasks, but a changed one means another version.
type content struct {
	body
	Priorities []string        `json:"priorities,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

// fingerprint returns the SHA-256 (hex) of the canonical content. Call it after reading the whole document, which
// collects priorities and metadata.
func (r *reader) fingerprint(t *task.Template) (string, error) {
	c := content{body: bodyOf(t), Priorities: r.priorities, Metadata: r.metadata}
	// Priorities has the levels as written.
	c.Priority = nil
	for i := range c.Steps {
		c.Steps[i].Priority = nil
		c.Steps[i].Dependencies = slices.Sorted(slices.Values(c.Steps[i].Dependencies))
	}
	b, err := encode(c)
	if err != nil {
		return "", fmt.Errorf("fingerprint template %s: %w", t.Name, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// encode is json.Marshal without HTML escapes, which would change embedded JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// canonical is the JSON of a node: keys sorted, no spaces, numbers normalised.
func canonical(n *document.Node) []byte {
	b, err := encode(n.Value())
	if err != nil {
		return []byte("null") // unreachable: a node holds JSON values only
	}
	return b
}
