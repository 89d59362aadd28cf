// Package codec encrypts contexts, results and checkpoints of tasks in the application, so that no server sees them in
// clear text:
//
//	keys, err := codec.Parse(os.Getenv("PAYLOAD_KEYS"))
//	client, err = client.WithCodec(tasker.CodecOptions{Codec: keys, ContextFields: []string{"/card"}})
//
// See [tasker.Client.WithCodec], and docs/guides/encryption.md for the format, which other languages can read and
// write. Your own codec, for example with a key service, implements [tasker.Codec].
package codec

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/vault"
)

// Name is the name of the codec AESGCM.
const Name = "aes-256-gcm"

// AESGCM is a tasker.Codec that encrypts with AES-256-GCM and a ring of keys. It is never printed with its keys.
type AESGCM struct{ ring *vault.Ring }

var _ tasker.Codec = (*AESGCM)(nil)

// Parse reads a ring of up to 64 keys: on each line an ID of a to z, 0 to 9 and "-", a space, and 32 bytes in base64.
// The first key encrypts, all decrypt. Empty lines and lines that begin with # are ignored; a comma ends a line too. To
// change the key, add the new one as the last line everywhere, and then move it to the first. An error shows no part of
// a key.
func Parse(keys string) (*AESGCM, error) {
	ring, err := vault.Parse(keys)
	if err != nil {
		return nil, fmt.Errorf("read the keys of a codec: %w", err)
	}
	return &AESGCM{ring}, nil
}

// GenerateKey returns a line with a new key of that ID, such as 2026-01.
func GenerateKey(id string) (string, error) {
	if !vault.ValidID(id) {
		return "", fmt.Errorf("%q is no ID of a key: it has a to z, 0 to 9 and -, and at most 32 bytes", id)
	}
	return vault.Generate(id), nil
}

// MissingKeyError reports a value whose key is not in the ring.
type MissingKeyError struct{ ID string }

// Error implements error.
func (e *MissingKeyError) Error() string { return fmt.Sprintf("there is no key %q here", e.ID) }

// Name implements tasker.Codec.
func (c *AESGCM) Name() string { return Name }

// Encode implements tasker.Codec.
func (c *AESGCM) Encode(_ context.Context, plain []byte) (tasker.Encoded, error) {
	id, data, err := c.ring.SealMessage(plain, Name)
	return tasker.Encoded{Key: id, Data: data}, err
}

// Decode implements tasker.Codec. errors.As finds a *MissingKeyError.
func (c *AESGCM) Decode(_ context.Context, value tasker.Encoded) ([]byte, error) {
	plain, err := c.ring.OpenMessage(value.Key, value.Data, Name)
	var missing *vault.MissingKeyError
	switch {
	case errors.As(err, &missing):
		return nil, &MissingKeyError{missing.ID}
	case err != nil:
		return nil, errors.New("it was changed, or encrypted with another key of the same ID")
	}
	return plain, nil
}

// String lists the IDs of the keys.
func (c *AESGCM) String() string { return c.ring.String() }

// GoString is String: %#v must not show keys either.
func (c *AESGCM) GoString() string { return c.String() }
