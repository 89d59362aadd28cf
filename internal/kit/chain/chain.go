package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// Prefixes of the hashed bytes. Another format gets another prefix.
const (
	actVersion  = "tasker act 1"
	linkVersion = "tasker link 1"
)

// ActArchive is the kind of the act that archives the beginning of a chain. Its data names the last archived link.
const ActArchive = "archive_audit"

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads 64 hexadecimal digits.
func ParseHash(s string) (h Hash, err error) {
	if len(s) != hex.EncodedLen(len(h)) {
		return h, fmt.Errorf("a hash has %d hexadecimal digits, not %d", hex.EncodedLen(len(h)), len(s))
	}
	_, err = hex.Decode(h[:], []byte(s))
	return h, err
}

// Act is the part of an act that the chain covers. An absent value is "".
type Act struct {
	No                       int64
	At                       int64 // microseconds since 1970
	Kind, Actor, Auth        string
	Key, Reason              string
	Task, Step, Case, Worker string // UUIDs
	Namespace, Template      string
	Before, After            string
	Data                     []byte // JSON
	Damage                   string // why a part of the stored row is unreadable
	// Masked: a part of Data is hidden from the reader, who cannot compute the hash.
	Masked bool
}

// Sum returns the content hash of an act. It is the same for the stored row and for the API's answer: JSON is hashed in
// the compact form of encoding/json, other text with U+FFFD for each wrong byte.
func (a *Act) Sum() Hash {
	h := sha256.New()
	text(h, actVersion)
	number(h, a.No)
	number(h, a.At)
	for _, s := range []string{a.Kind, a.Actor, a.Auth, a.Key, a.Reason, a.Task, a.Step, a.Case, a.Worker, a.Namespace,
		a.Template, a.Before, a.After, a.Damage} {
		text(h, string([]rune(s)))
	}
	text(h, string(compact(a.Data)))
	return Hash(h.Sum(nil))
}

// ArchivedHead returns the last archived link of an ActArchive; the zero Head for other acts.
func (a *Act) ArchivedHead() Head {
	var data struct {
		Head string `json:"head"`
	}
	if a.Kind != ActArchive || json.Unmarshal(a.Data, &data) != nil {
		return Head{}
	}
	h, err := ParseHead(data.Head)
	if err != nil {
		return Head{}
	}
	return h
}

// compact returns JSON as encoding/json embeds it; other bytes stay unchanged.
func compact(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	var escaped, out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return data
	}
	json.HTMLEscape(&escaped, out.Bytes())
	return escaped.Bytes()
}

// text writes the length first, so that no two lists of strings have the same bytes.
func text(h hash.Hash, s string) {
	number(h, int64(len(s)))
	h.Write([]byte(s)) // a hash never fails
}

func number(h hash.Hash, n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// Link seals one act. Links are numbered from 1 without gaps.
type Link struct {
	Seq      int64
	Act      int64 // its number
	SealedAt int64 // microseconds since 1970
	Content  Hash  // of the act
	Hash     Hash  // covers the link and, through the hash before it, all earlier ones
}

// Sum returns the hash of the link behind another one.
func (l *Link) Sum(before Hash) Hash {
	h := sha256.New()
	text(h, linkVersion)
	h.Write(before[:])
	number(h, l.Seq)
	number(h, l.Act)
	number(h, l.SealedAt)
	h.Write(l.Content[:])
	return Hash(h.Sum(nil))
}

// Head identifies the state of a chain by its last link. The zero Head is an empty chain's.
type Head struct {
	Seq  int64
	Hash Hash
}

// Next returns the link that seals an act behind a head.
func (h Head) Next(a *Act, sealedAt int64) Link {
	l := Link{Seq: h.Seq + 1, Act: a.No, SealedAt: sealedAt, Content: a.Sum()}
	l.Hash = l.Sum(h.Hash)
	return l
}

// Head returns the head of a chain that ends with this link.
func (l *Link) Head() Head { return Head{l.Seq, l.Hash} }

// String returns the form in which operators note a head: SEQ-HASH.
func (h Head) String() string { return strconv.FormatInt(h.Seq, 10) + "-" + h.Hash.String() }

// ParseHead reads the form of String.
func ParseHead(s string) (h Head, err error) {
	seq, sum, ok := strings.Cut(s, "-")
	if !ok {
		return h, errors.New("a head has the form SEQ-HASH, as tasker audit verify prints it")
	}
	if h.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil || h.Seq < 0 || seq != strconv.FormatInt(h.Seq, 10) {
		return h, fmt.Errorf("a head begins with the number of a link, not %q", seq)
	}
	if h.Hash, err = ParseHash(sum); err != nil {
		return h, err
	}
	if h.Seq == 0 && h.Hash != (Hash{}) {
		return h, errors.New("the head of an empty chain is 0- and 64 zeros")
	}
	return h, nil
}
