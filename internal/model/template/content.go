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

// content is the meaning of a document, as covered by its fingerprint: everything except comments, formatting, the
// order of keys and of dependencies, and explicit defaults.
//
// Priorities stay as written. If they were resolved, the fingerprint of an unchanged document would change with the
// server's table.
// Metadata has no effect on tasks, but an author who changes it means another version.
type content struct {
	body
	Priorities []string        `json:"priorities,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

// fingerprint returns the SHA-256 (hex) of the canonical content.
// It must be called after the whole document was read: priorities and metadata are collected on the way.
func (r *reader) fingerprint(t *task.Template) (string, error) {
	c := content{body: bodyOf(t), Priorities: r.priorities, Metadata: r.metadata}
	// The resolved levels are left out; Priorities has them as written.
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

// encode is json.Marshal without escapes for HTML, which would change the embedded JSON.
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
// Two documents that differ in spelling only have the same text.
func canonical(n *document.Node) []byte {
	b, err := encode(n.Value())
	if err != nil {
		return []byte("null") // not reached: a node holds JSON values only
	}
	return b
}
