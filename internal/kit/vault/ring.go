package vault

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxKeys bounds the keys of a ring; maxID bounds the ID of a key, in bytes.
	MaxKeys = 64
	maxID   = 32
	// MaxText bounds a ring as text, in bytes.
	MaxText = 16 << 10

	keyBytes = 32 // AES-256
)

type key struct {
	id     string
	secret []byte
}

// Ring is a list of keys. A nil Ring has none.
type Ring struct{ keys []key }

// Parse reads a ring: a key on each line, as an ID and 32 bytes in base64. The first one encrypts. Empty lines and
// lines that begin with # are ignored. A comma ends a line, too. Errors name a line without its content.
func Parse(text string) (*Ring, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("has %d bytes; the limit is %d", len(text), MaxText)
	}
	r := &Ring{}
	for i, line := range strings.Split(strings.ReplaceAll(text, ",", "\n"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if r.find(k.id) != nil {
			return nil, fmt.Errorf("line %d: there is a key of this ID already", i+1)
		}
		if len(r.keys) == MaxKeys {
			return nil, fmt.Errorf("has more than %d keys", MaxKeys)
		}
		r.keys = append(r.keys, k)
	}
	if len(r.keys) == 0 {
		return nil, errors.New("has no key")
	}
	return r, nil
}

func parseKey(line string) (key, error) {
	words := strings.Fields(line)
	if len(words) != 2 {
		return key{}, errors.New("a key is an ID and 32 bytes in base64, with a space between them")
	}
	if !ValidID(words[0]) {
		return key{}, fmt.Errorf("an ID has a to z, 0 to 9 and -, and at most %d bytes", maxID)
	}
	secret, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil || len(secret) != keyBytes {
		return key{}, errors.New("the key is not 32 bytes in base64: make one with `tasker encryption generate`")
	}
	return key{words[0], secret}, nil
}

// ValidID reports whether a text can be the ID of a key.
func ValidID(id string) bool {
	return id != "" && len(id) <= maxID &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && id[0] != '-'
}

// Generate returns a line with a new key.
func Generate(id string) string {
	secret := make([]byte, keyBytes)
	_, _ = rand.Read(secret) // it never fails
	return id + " " + base64.StdEncoding.EncodeToString(secret)
}

// Checks returns a check value of each key by its ID: equal for equal keys, revealing nothing.
func (r *Ring) Checks() map[string]string {
	out := map[string]string{}
	for _, k := range r.list() {
		mac := hmac.New(sha256.New, k.secret)
		mac.Write([]byte("tasker sealed check"))
		out[k.id] = hex.EncodeToString(mac.Sum(nil)[:8])
	}
	return out
}

// Active is the ID of the key that encrypts, "" without one.
func (r *Ring) Active() string {
	if len(r.list()) == 0 {
		return ""
	}
	return r.keys[0].id
}

// String lists the IDs.
func (r *Ring) String() string {
	var ids []string
	for _, k := range r.list() {
		ids = append(ids, k.id)
	}
	return strings.Join(ids, " ")
}

// GoString is String: %#v shows no key either.
func (r *Ring) GoString() string { return r.String() }

func (r *Ring) list() []key {
	if r == nil {
		return nil
	}
	return r.keys
}

func (r *Ring) find(id string) *key {
	for i, k := range r.list() {
		if k.id == id {
			return &r.keys[i]
		}
	}
	return nil
}
