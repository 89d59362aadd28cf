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

// Messages are hostile: their texts may be invalid, and their contents large.

type blob = JSON

// clean replaces NUL and invalid UTF-8, which PostgreSQL refuses, by U+FFFD.
func clean(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// maxIdentity bounds identities in their index: PostgreSQL refuses entries above some 2,700 bytes.
const maxIdentity = 1024

// identityKey is the column of an identity. A hash replaces a long or invalid one: cut or cleaned it could equal that
// of another letter, which would then be lost.
func identityKey(identity string) string {
	if len(identity) <= maxIdentity && clean(identity) == identity {
		return identity
	}
	sum := sha256.Sum256([]byte(identity))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func binary(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

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

// deflaters are reused: each has tables of more than a hundred KiB.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// pack compresses bytes above inbox.SmallPayload if that makes them shorter. nil stays nil. A message is packed in the
// transaction of its capture and seldom read: hence BestSpeed.
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

// unpack is the reverse of pack. An error means damage, or a value of a newer version.
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

// packText is pack for a text; "" is nil. The result is shared and must not be changed.
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

// packedTexts are recently packed stacks: failures of one cause mostly have the same stack, and compressing it takes a
// third of a capture's time.
var packedTexts = packs{known: map[[sha256.Size]byte][]byte{}}

// packs caches packed values by the hashes of their originals. It is safe for concurrent use.
type packs struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte][]byte
	bytes int
}

const maxPacks = 2 << 20

// of returns b packed. When the cache is full, it drops all.
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

// The marks in encoded headers: a zero byte and a second one; markZero follows a zero byte of a name or a value. So a
// search for a header finds only that header, and never a value that looks like one.
const (
	markName  = "\x00\x01"
	markValue = "\x00\x02"
	markEnd   = "\x00\x03"
	markZero  = "\x00\xff"
)

// escapeZero makes room for the marks; decodeHeaders reverts it.
func escapeZero(s string) string { return strings.ReplaceAll(s, "\x00", markZero) }

func encodeHeaders(headers []deadletter.Header) ([]byte, error) {
	var b []byte
	for _, h := range headers {
		b = append(b, headerStart(h.Name)...)
		b = append(b, escapeZero(string(h.Value))...)
		b = append(b, markEnd...)
	}
	return b, nil
}

func headerStart(name string) string { return markName + escapeZero(name) + markValue }

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
