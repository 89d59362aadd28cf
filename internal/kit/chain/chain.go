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

// The prefixes of what is hashed. A different way of hashing gets a different prefix.
const (
	actVersion  = "tasker act 1"
	linkVersion = "tasker link 1"
)

// ActArchive is the kind of the act that archives the beginning of a chain. Its data names the last link of it.
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

// Act is what the chain covers of an act. An absent value is "".
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
	// Masked says that a part of Data is hidden from the reader, who cannot compute the hash of the act then.
	Masked bool
}

// Sum returns the content hash of an act. It is the same for the stored row and for the act as an answer of the API
// shows it: JSON is hashed in the compact form that encoding/json gives it, and text that is not UTF-8 with U+FFFD in
// place of each wrong byte.
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

// ArchivedHead returns the head up to which an act has archived the chain; the zero Head for every other act.
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

// compact returns JSON as encoding/json writes it into a document; what is no JSON stays as it is.
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

// text writes a string with its length, so that no two lists of strings have the same bytes.
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

// Sum returns the hash that a link must have behind another one.
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

// Head identifies the state of a chain: the last link. The zero Head is that of an empty chain.
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
