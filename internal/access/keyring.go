package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Prefix starts every key, so that scanners recognise a leaked one.
const Prefix = "tsk_"

// System is the actor of Tasker's own acts. No key may have this name.
const System = "system"

// Key is one configured API key.
type Key struct {
	Name        string   // shown in logs, stored with acts; unique
	SHA256      string   // hash of the whole key, 64 hexadecimal digits
	Permissions []string // at least one of Permissions
	Namespaces  []string // the key's limit; none means all
}

// Generate returns a new key and its hash. The secret is shown once; only the hash is stored.
func Generate() (secret, hash string) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: it crashes the program instead
	secret = Prefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return secret, Hash(secret)
}

// Hash returns the configured form of a key: its SHA-256 in hexadecimal.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Keyring holds the keys of a server.
type Keyring struct {
	entries []entry
}

type entry struct {
	hash      [sha256.Size]byte
	principal *Principal
}

// New returns a Keyring. Its error lists every problem with the keys. Without keys the Keyring is open.
func New(keys []Key) (*Keyring, error) {
	ring := &Keyring{}
	var problems []error
	for i, key := range keys {
		e, err := newEntry(key)
		if err != nil {
			problems = append(problems, fmt.Errorf("key %d (%q): %w", i, key.Name, err))
			continue
		}
		for _, other := range ring.entries {
			if other.principal.Name == e.principal.Name {
				problems = append(problems, fmt.Errorf("key %d (%q): the name is taken", i, key.Name))
			}
			if other.hash == e.hash {
				problems = append(problems, fmt.Errorf("key %d (%q): the same key as %q", i, key.Name, other.principal.Name))
			}
		}
		ring.entries = append(ring.entries, e)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return ring, nil
}

// newEntry checks one key by its own fields.
func newEntry(key Key) (entry, error) {
	var problems []error
	e := entry{principal: &Principal{Name: key.Name, namespaces: slices.Clone(key.Namespaces)}}
	if key.Name == "" {
		problems = append(problems, errors.New("a name is required"))
	}
	if strings.EqualFold(strings.TrimSpace(key.Name), System) {
		problems = append(problems, fmt.Errorf("the name %q is reserved for what Tasker does on its own", key.Name))
	}
	sum, err := hex.DecodeString(key.SHA256)
	if err != nil || len(sum) != sha256.Size {
		problems = append(problems, errors.New("sha256 must be 64 hexadecimal digits"))
	}
	copy(e.hash[:], sum)
	id := sha256.Sum256(append([]byte("id of "), sum...))
	e.principal.id = hex.EncodeToString(id[:8])
	if len(key.Permissions) == 0 {
		problems = append(problems, errors.New("at least one permission is required"))
	}
	for _, p := range key.Permissions {
		if !slices.Contains(Permissions(), Permission(p)) {
			problems = append(problems, fmt.Errorf("unknown permission %q; there are %v", p, Permissions()))
		}
		e.principal.permissions = append(e.principal.permissions, Permission(p))
	}
	// An empty name would be a limit that no request satisfies, or worse, one that a request without a
	// namespace satisfies.
	if slices.Contains(key.Namespaces, "") {
		problems = append(problems, errors.New("a namespace must not be empty"))
	}
	return e, errors.Join(problems...)
}

// Open reports whether there are no keys, so that every caller may do everything. A nil Keyring is open.
func (r *Keyring) Open() bool { return r == nil || len(r.entries) == 0 }

// Named returns the principal of the key with a name, or nil.
func (r *Keyring) Named(name string) *Principal {
	if r == nil {
		return nil
	}
	for _, e := range r.entries {
		if e.principal.Name == name {
			return e.principal
		}
	}
	return nil
}

// Authenticate returns the principal of a key, or nil for an unknown one. It compares every entry in full, so
// that its duration reveals nothing about the keys.
func (r *Keyring) Authenticate(secret string) *Principal {
	if r == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(secret))
	var found *Principal
	for i := range r.entries {
		if subtle.ConstantTimeCompare(sum[:], r.entries[i].hash[:]) == 1 {
			found = r.entries[i].principal
		}
	}
	return found
}
