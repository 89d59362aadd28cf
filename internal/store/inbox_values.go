package store

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// Messages are hostile: what they say of themselves may be no text, and what they carry may be large.

// blob is a nullable column of bytes.
// JSON already scans bytes and keeps its own copy.
type blob = JSON

// clean makes a text of what a message says: PostgreSQL keeps neither NUL nor what is not UTF-8.
// Each such part becomes the replacement character U+FFFD. SQLite would keep them; both stores must behave alike.
func clean(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// maxIdentity bounds what the index of identities contains.
// PostgreSQL refuses index entries above some 2,700 bytes.
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
// stays nil.
// BestSpeed is chosen because a message is packed once, in the transaction that captures it, and seldom read.
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

// unpack decodes what pack encoded.
// An error means damage, or a value that a newer version wrote.
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

// packText is pack for a text; "" is nil.
func packText(s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	return pack([]byte(s))
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
func encodeHeaders(headers []deadletter.Header) []byte {
	var b []byte
	for _, h := range headers {
		b = append(b, headerStart(h.Name)...)
		b = append(b, escapeZero(string(h.Value))...)
		b = append(b, markEnd...)
	}
	return b
}

// headerStart is how a header of that name begins in encoded headers.
// A search for it finds every header of that name, whatever its value.
func headerStart(name string) string { return markName + escapeZero(name) + markValue }

// decodeHeaders decodes what encodeHeaders encoded.
// nil gives none.
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

// packContent encodes edited content: its headers, its key and its payload, each with its length. nil is nil.
// A part that is nil has "-" for its length, because an edit may leave a part as it was or make it empty.
func packContent(c *deadletter.Content) ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	var b []byte
	for _, part := range [][]byte{encodeHeaders(c.Headers), c.Key, c.Payload} {
		length := strconv.Itoa(len(part))
		if part == nil {
			length = "-"
		}
		b = append(append(b, length...), ':')
		b = append(b, part...)
	}
	return pack(b)
}

// unpackContent decodes what packContent encoded.
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

// rowInsert inserts rows of one shape, many with one statement.
type rowInsert struct {
	width               int
	numbered, anonymous map[int]string // statements by their number of rows
}

// Three lengths keep the number of different statements small, so that each is prepared once.
const manyRows, fewRows = 64, 8

// insertOf returns the statements that insert rows of a number of columns. tail follows the values.
// It is called when the program starts, so that no statement is assembled later.
func insertOf(into string, width int, tail string) rowInsert {
	rows := func(n int, mark func(i int) string) string {
		var b strings.Builder
		b.WriteString(into + " VALUES ")
		for i := range n * width {
			switch {
			case i == 0:
				b.WriteString("(")
			case i%width == 0:
				b.WriteString("), (")
			default:
				b.WriteString(", ")
			}
			b.WriteString(mark(i))
		}
		b.WriteString(")" + tail)
		return b.String()
	}
	r := rowInsert{width: width, numbered: map[int]string{}, anonymous: map[int]string{}}
	for _, n := range []int{1, fewRows, manyRows} {
		r.numbered[n] = rows(n, func(i int) string { return "$" + strconv.Itoa(i+1) })
		r.anonymous[n] = rows(n, func(int) string { return "?" })
	}
	return r
}

// run calls each with a statement and its arguments, for all rows in their order.
// An error of each ends it; the transaction is then rolled back as a whole.
func (r rowInsert) run(d Dialect, rows [][]any, each func(query string, args []any) error) error {
	queries := r.numbered
	if d.Anonymous {
		queries = r.anonymous
	}
	for len(rows) > 0 {
		n := 1
		switch {
		case len(rows) >= manyRows:
			n = manyRows
		case len(rows) >= fewRows:
			n = fewRows
		}
		args := make([]any, 0, n*r.width)
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if err := each(queries[n], args); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// send inserts rows; the outcome is not needed.
func (r rowInsert) send(ctx context.Context, s SQL, rows [][]any) error {
	return r.run(s.Dialect, rows, func(query string, args []any) error { return s.Send(ctx, query, args...) })
}
