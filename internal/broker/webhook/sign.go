package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

const (
	// secretPrefix begins the text of a secret, before base64 of the key.
	secretPrefix = "whsec_"
	// bounds of a key, in bytes
	minKey, maxKey = 24, 64
)

// Secret is a key that signs messages. It prints as "(redacted)".
type Secret struct{ key []byte }

// String implements fmt.Stringer, to hide a logged secret.
func (Secret) String() string { return "(redacted)" }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return "(redacted)" }

var errSecret = errors.New("must be whsec_ and 24 to 64 bytes in base64, such as the output of: " +
	"echo whsec_$(openssl rand -base64 32)")

// ParseSecret reads a secret: whsec_ and 24 to 64 bytes in base64. Its error does not repeat the text.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || strings.ContainsAny(encoded, "\r\n") || // ignored by the decoder
		len(key) < minKey || len(key) > maxKey {
		return Secret{}, errSecret
	}
	return Secret{key}, nil
}

// Sign returns the value of the header webhook-signature: a signature for each secret, separated by spaces.
func Sign(secrets []Secret, id string, at time.Time, payload []byte) string {
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		mac := hmac.New(sha256.New, s.key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(payload)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
