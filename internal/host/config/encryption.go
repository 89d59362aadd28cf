package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/taskerhq/tasker/internal/kit/vault"
)

// Encryption has the keys of stored sensitive values. They come from a file or the environment, never from a flag.
type Encryption struct {
	// KeysFile has a key on each line: an ID, a space, and 32 bytes in base64. The first key encrypts, all decrypt.
	// It is reread when a value needs an unknown key.
	KeysFile string
	// Keys are the same lines without a file, separated by line breaks or commas. Without keys values are stored in
	// clear text.
	Keys string
	// LostKeys are the IDs of lost keys: a node starts although values need them.
	LostKeys []string
}

// Ring reads the keys; nil for none. Errors show nothing of them.
func (e *Encryption) Ring() (*vault.Ring, error) {
	if e.KeysFile == "" && e.Keys == "" {
		return nil, nil
	}
	text, from := e.Keys, "encryption.keys"
	if e.KeysFile != "" {
		from = "encryption.keys_file " + e.KeysFile
		raw, err := os.ReadFile(e.KeysFile)
		if err != nil {
			return nil, fmt.Errorf("encryption.keys_file: %w", err)
		}
		text = string(raw)
	}
	ring, err := vault.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return ring, nil
}

// checkEncryption checks the section without the file.
func checkEncryption(e *Encryption) (key string, err error) {
	if e.Keys != "" && e.KeysFile != "" {
		return "encryption.keys", errors.New("give keys or keys_file, not both")
	}
	if e.Keys != "" {
		if _, err := vault.Parse(e.Keys); err != nil {
			return "encryption.keys", err
		}
	}
	if strings.ContainsFunc(e.KeysFile, unicode.IsControl) {
		return "encryption.keys_file", errors.New("must not contain control characters")
	}
	if i := slices.IndexFunc(e.LostKeys, func(id string) bool { return !vault.ValidID(id) }); i >= 0 {
		return "encryption.lost_keys", fmt.Errorf("%q is not the ID of a key", e.LostKeys[i])
	}
	return "encryption.lost_keys", nil
}
