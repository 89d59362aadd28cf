package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Prefix starts every key, so that scanners recognise a leaked one.
const Prefix = "tsk_"

// System is the actor of Tasker's own acts. No key can have this name.
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

// Keyring holds the keys of a server. It is safe for concurrent use.
type Keyring struct {
	changing sync.Mutex
	entries  atomic.Pointer[[]entry]
}

type entry struct {
	hash      [sha256.Size]byte
	principal *Principal
	end       context.CancelFunc // of the principal's life
}

// New returns a Keyring. Its error lists every problem with the keys. Without keys the Keyring is open.
func New(keys []Key) (*Keyring, error) {
	var entries []entry
	var problems []error
	for i, key := range keys {
		e, err := newEntry(key)
		if err != nil {
			problems = append(problems, fmt.Errorf("key %d (%q): %w", i, key.Name, err))
			continue
		}
		for _, other := range entries {
			if other.principal.Name == e.principal.Name {
				problems = append(problems, fmt.Errorf("key %d (%q): the name is taken", i, key.Name))
			}
			if other.hash == e.hash {
				problems = append(problems, fmt.Errorf("key %d (%q): the same key as %q", i, key.Name, other.principal.Name))
			}
		}
		entries = append(entries, e)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	ring := &Keyring{}
	ring.entries.Store(&entries)
	return ring, nil
}

func newEntry(key Key) (entry, error) {
	var problems []error
	life, end := context.WithCancel(context.Background())
	e := entry{principal: &Principal{Name: key.Name, namespaces: slices.Clone(key.Namespaces), life: life}, end: end}
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
	// A request without a namespace would satisfy an empty limit.
	if slices.Contains(key.Namespaces, "") {
		problems = append(problems, errors.New("a namespace must not be empty"))
	}
	return e, errors.Join(problems...)
}

// Open reports whether there are no keys, so that every caller may do everything. A nil Keyring is open.
func (r *Keyring) Open() bool { return len(r.all()) == 0 }

// Named returns the principal of the key with a name, or nil.
func (r *Keyring) Named(name string) *Principal {
	for _, e := range r.all() {
		if e.principal.Name == name {
			return e.principal
		}
	}
	return nil
}

// Authenticate returns the principal of a key, or nil for an unknown one. It compares every entry in full, so that
// its duration reveals nothing.
func (r *Keyring) Authenticate(secret string) *Principal {
	sum := sha256.Sum256([]byte(secret))
	var found *Principal
	entries := r.all()
	for i := range entries {
		if subtle.ConstantTimeCompare(sum[:], entries[i].hash[:]) == 1 {
			found = entries[i].principal
		}
	}
	return found
}

// Replace exchanges the keys. The lives of principals whose key is gone or has changed end. It fails and changes
// nothing for keys that New refuses, and for a switch between no keys and some: listeners depend on that.
func (r *Keyring) Replace(keys []Key) error {
	next, err := New(keys)
	if err != nil {
		return err
	}
	if next.Open() != r.Open() {
		return errors.New("a server cannot change between keys and no keys while it runs")
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	now := next.all()
	for _, old := range r.all() {
		i := slices.IndexFunc(now, func(e entry) bool { return e.same(old) })
		if i < 0 {
			old.end()
			continue
		}
		now[i] = old
	}
	r.entries.Store(&now)
	return nil
}

func (e entry) same(other entry) bool {
	return e.hash == other.hash && e.principal.Name == other.principal.Name &&
		slices.Equal(e.principal.permissions, other.principal.permissions) &&
		slices.Equal(e.principal.namespaces, other.principal.namespaces)
}

func (r *Keyring) all() []entry {
	if r == nil {
		return nil
	}
	if entries := r.entries.Load(); entries != nil {
		return *entries
	}
	return nil
}
