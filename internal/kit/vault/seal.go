package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

// Kind says which document of an object a value is in.
type Kind string

// The kinds of documents.
const (
	Context    Kind = "context"    // of a task
	Result     Kind = "result"     // of a step
	Details    Kind = "details"    // of a failure of a step
	Checkpoint Kind = "checkpoint" // of a step
	Snapshot   Kind = "snapshot"   // of a case
	Metadata   Kind = "metadata"   // of a case
	Act        Kind = "act"        // on a task
	Schedule   Kind = "schedule"
	Items      Kind = "items"  // of a step with children
	Signal     Kind = "signal" // for steps that wait for it
	Child      Kind = "child"  // the result of a task, kept with its parent
)

// Place is where a document is stored: a value encrypted in one place cannot be decrypted in another.
type Place struct {
	Kind Kind
	ID   string // of the object
}

// Prefix begins an encrypted value; the ID of the key and a colon follow.
const Prefix = "tasker:sealed:1:"

var literal = []byte(`"` + Prefix)

// MaxValues bounds the separately encrypted values, each of which adds some 80 bytes. A document with more becomes one
// encrypted value, as does a document that is not JSON.
const MaxValues = 1000

var errMany = errors.New("too many values")

// Seal encrypts the selected values of a document: at the pointers, or below every value (see sensitive.Set). It also
// encrypts a text that looks like an encrypted value, so that Open returns the document to the byte.
func (r *Ring) Seal(set *sensitive.Set, doc []byte, anywhere bool, at Place) ([]byte, error) {
	if len(r.list()) == 0 || len(doc) == 0 {
		return doc, nil
	}
	k := &r.keys[0]
	sealer, err := k.cipher(at)
	if err != nil {
		return nil, err
	}
	values := 0
	out, err := set.Rewrite(doc, anywhere, literal, func(pointer string, value []byte) ([]byte, error) {
		if values++; values > MaxValues {
			return nil, errMany
		}
		return k.seal(sealer, pointer, value), nil
	})
	if errors.Is(err, errMany) {
		return k.seal(sealer, "", doc), nil
	}
	return out, err
}

// MissingKeyError is the error for a key that is not in the ring.
type MissingKeyError struct{ ID string }

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("it is encrypted with the key %q, which this node does not have", e.ID)
}

// errForeign is the error for a value from another place, or a changed one.
var errForeign = errors.New("what is encrypted in it was changed, or belongs to another place")

// Sealed reports whether a document may have encrypted values.
func Sealed(doc []byte) bool { return bytes.Contains(doc, literal) }

// Open decrypts all values of a document, or none: a *MissingKeyError means that the ring lacks a key.
func (r *Ring) Open(doc []byte, at Place) ([]byte, error) { return r.open(doc, at, nil) }

// OpenLenient is Open for reading: it masks values that it cannot decrypt.
func (r *Ring) OpenLenient(doc []byte, at Place) []byte {
	out, err := r.open(doc, at, []byte(`"`+sensitive.Mask+`"`))
	if err != nil {
		return []byte(`"` + sensitive.Mask + `"`)
	}
	return out
}

func (r *Ring) open(doc []byte, at Place, otherwise []byte) ([]byte, error) {
	ciphers := map[string]cipher.AEAD{}
	return (*sensitive.Set)(nil).Rewrite(doc, false, literal, func(pointer string, value []byte) ([]byte, error) {
		opened, err := r.value(ciphers, pointer, value, at)
		if err != nil && otherwise != nil {
			return otherwise, nil
		}
		return opened, err
	})
}

func (r *Ring) value(ciphers map[string]cipher.AEAD, pointer string, value []byte, at Place) ([]byte, error) {
	id, data, found := strings.Cut(strings.TrimSuffix(string(value[len(literal):]), `"`), ":")
	if !found || !ValidID(id) {
		return nil, errForeign
	}
	k := r.find(id)
	if k == nil {
		return nil, &MissingKeyError{id}
	}
	if ciphers[id] == nil {
		var err error
		if ciphers[id], err = k.cipher(at); err != nil {
			return nil, err
		}
	}
	return k.open(ciphers[id], pointer, data)
}

func (k *key) cipher(at Place) (cipher.AEAD, error) {
	return k.derived(fmt.Sprintf("tasker sealed 1\x00%s\x00%s", at.Kind, at.ID))
}

// derived returns the cipher of one use of a key. The derivation keeps random nonces from repeating, however many
// values one key of the ring encrypts.
func (k *key) derived(use string) (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte(use))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (k *key) seal(c cipher.AEAD, pointer string, value []byte) []byte {
	nonce := make([]byte, c.NonceSize(), c.NonceSize()+len(value)+c.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	data := c.Seal(nonce, nonce, value, k.bound(pointer))
	out := make([]byte, 0, len(literal)+len(k.id)+2+base64.RawURLEncoding.EncodedLen(len(data)))
	out = append(append(append(out, literal...), k.id...), ':')
	return append(base64.RawURLEncoding.AppendEncode(out, data), '"')
}

func (k *key) open(c cipher.AEAD, pointer, data string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(data)
	if err != nil || len(raw) < c.NonceSize() {
		return nil, errForeign
	}
	value, err := c.Open(nil, raw[:c.NonceSize()], raw[c.NonceSize():], k.bound(pointer))
	if err != nil {
		return nil, errForeign
	}
	return value, nil
}

// bound is the additional data of a value.
func (k *key) bound(pointer string) []byte { return []byte(k.id + "\x00" + pointer) }
