package store

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Messages are hostile: what they say of themselves may be no text, and what they carry may be large.

// blob is a nullable column of bytes.
type blob = JSON

// clean makes a text of what a message says: U+FFFD stands for NUL and what is not UTF-8, which PostgreSQL refuses.
func clean(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// maxIdentity bounds identities in their index: PostgreSQL refuses entries above some 2,700 bytes.
const maxIdentity = 1024

// identityKey is the column of an identity. One that is no text, or is long, is replaced by its hash: cut or cleaned it
// might become that of another letter, which would then be lost.
func identityKey(identity string) string {
	if len(identity) <= maxIdentity && clean(identity) == identity {
		return identity
	}
	sum := sha256.Sum256([]byte(identity))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// binary is a column of bytes in which nil is NULL.
func binary(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// optional is a column of an ID in which the zero ID is NULL.
func (s SQL) optional(id task.ID) any {
	if id.IsZero() {
		return nil
	}
	return s.id(id)
}

// The first byte of a packed value.
const (
	packedPlain   = 0
	packedDeflate = 1
)

// deflaters are used again: each has tables of more than a hundred KiB.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// pack encodes bytes for a column: compressed if they are more than inbox.SmallPayload and that makes them shorter. nil
// stays nil. A message is packed once, in the transaction that captures it, and seldom read: hence BestSpeed.
func pack(b []byte) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	plain := append([]byte{packedPlain}, b...)
	if len(b) <= inbox.SmallPayload {
		return plain, nil
	}
	out := bytes.NewBuffer(make([]byte, 0, len(b)/2))
	out.WriteByte(packedDeflate)
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(out)
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("compress a message: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress a message: %w", err)
	}
	if out.Len() >= len(plain) {
		return plain, nil
	}
	return out.Bytes(), nil
}

// unpack decodes what pack encoded. An error means damage, or a value of a newer version.
func unpack(b []byte) ([]byte, error) {
	switch {
	case b == nil:
		return nil, nil
	case len(b) > 0 && b[0] == packedPlain:
		return b[1:], nil
	case len(b) > 0 && b[0] == packedDeflate:
		out, err := io.ReadAll(flate.NewReader(bytes.NewReader(b[1:])))
		if err != nil {
			return nil, fmt.Errorf("decompress a message: %w", err)
		}
		return out, nil
	}
	return nil, errors.New("a packed column begins with neither 0 nor 1")
}

// packText is pack for a text; "" is nil. The caller does not change the result.
func packText(s string) ([]byte, error) {
	switch {
	case s == "":
		return nil, nil
	case len(s) <= inbox.SmallPayload:
		return pack([]byte(s))
	}
	return packedTexts.of([]byte(s))
}

func unpackText(packed []byte) (string, error) {
	b, err := unpack(packed)
	return string(b), err
}

// packedTexts are the stacks that were packed lately: failures of one cause have the same stack mostly, and to compress
// it takes a third of the time of a capture.
var packedTexts = packs{known: map[[sha256.Size]byte][]byte{}}

// packs remembers packed values by the hashes of what they were. It is safe for concurrent use.
type packs struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte][]byte
	bytes int // of all values
}

// maxPacks bounds the bytes of values that are remembered.
const maxPacks = 2 << 20

// of returns b packed. When there is no more room it forgets all.
func (p *packs) of(b []byte) ([]byte, error) {
	key := sha256.Sum256(b)
	p.mu.Lock()
	packed := p.known[key]
	p.mu.Unlock()
	if packed != nil {
		return packed, nil
	}
	packed, err := pack(b)
	if err != nil || len(packed) > maxPacks/16 {
		return packed, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes += len(packed); p.bytes > maxPacks {
		clear(p.known)
		p.bytes = len(packed)
	}
	p.known[key] = packed
	return packed, nil
}

// packDetails packs details as JSON, nil for none.
func packDetails(list []deadletter.Detail) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode the details of a letter: %w", err)
	}
	return pack(text)
}

func unpackDetails(packed []byte) (list []deadletter.Detail, err error) {
	text, err := unpack(packed)
	if err != nil || text == nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode the details of a letter: %w", err)
	}
	return list, nil
}

// The marks in encoded headers. Each is a zero byte and a second one; a zero byte of a name or a value is followed by
// markZero. So a search for a header finds that header only, and never a value that looks like one.
const (
	markName  = "\x00\x01"
	markValue = "\x00\x02"
	markEnd   = "\x00\x03"
	markZero  = "\x00\xff"
)

// escapeZero makes room for the marks; decodeHeaders reverts it.
func escapeZero(s string) string { return strings.ReplaceAll(s, "\x00", markZero) }

// encodeHeaders encodes headers in their order; none is nil.
func encodeHeaders(headers []deadletter.Header) ([]byte, error) {
	var b []byte
	for _, h := range headers {
		b = append(b, headerStart(h.Name)...)
		b = append(b, escapeZero(string(h.Value))...)
		b = append(b, markEnd...)
	}
	return b, nil
}

// headerStart is how each header of that name begins in encoded headers.
func headerStart(name string) string { return markName + escapeZero(name) + markValue }

// decodeHeaders decodes what encodeHeaders encoded.
func decodeHeaders(b []byte) ([]deadletter.Header, error) {
	var headers []deadletter.Header
	plain := func(s string) string { return strings.ReplaceAll(s, markZero, "\x00") }
	for rest := string(b); rest != ""; {
		name, behind, named := strings.Cut(strings.TrimPrefix(rest, markName), markValue)
		value, next, ended := strings.Cut(behind, markEnd)
		if !strings.HasPrefix(rest, markName) || !named || !ended {
			return nil, errors.New("the headers of a letter cannot be decoded")
		}
		headers = append(headers, deadletter.Header{Name: plain(name), Value: []byte(plain(value))})
		rest = next
	}
	return headers, nil
}

// packContent encodes edited content: headers, key and payload, each behind its length, which is "-" for nil.
func packContent(c *deadletter.Content) ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	headers, err := encodeHeaders(c.Headers)
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, part := range [][]byte{headers, c.Key, c.Payload} {
		length := strconv.Itoa(len(part))
		if part == nil {
			length = "-"
		}
		b = append(append(b, length...), ':')
		b = append(b, part...)
	}
	return pack(b)
}

func unpackContent(packed []byte) (*deadletter.Content, error) {
	b, err := unpack(packed)
	if err != nil || b == nil {
		return nil, err
	}
	var parts [3][]byte
	for i := range parts {
		length, rest, ok := bytes.Cut(b, []byte(":"))
		n, err := strconv.Atoi(string(length))
		switch {
		case ok && string(length) == "-":
			b = rest
		case !ok || err != nil || n < 0 || n > len(rest):
			return nil, errors.New("the edited content of a letter cannot be decoded")
		default:
			parts[i], b = rest[:n:n], rest[n:]
		}
	}
	headers, err := decodeHeaders(parts[0])
	return &deadletter.Content{Headers: headers, Key: parts[1], Payload: parts[2]}, err
}
