package kernel

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A worker presents a token for each lease, because the lease's number does not authenticate. The token is the
// number, the time of the hand-out, and a code over both, step and worker, with a key of the database. So it cannot
// be guessed or used by another worker, survives restarts, and needs no storage.

const (
	// tokenKeyNote holds the key, which moves with the database.
	tokenKeyNote = "token_key"
	tokenKeySize = 32
	tokenCode    = 12
	maxToken     = 64
)

// Another database may have another key.
type keyring struct {
	tokens  atomic.Pointer[tokens]
	doubted atomic.Bool // read the key before its next use
}

// current returns the previous tokens while a doubted key cannot be read.
func (k *keyring) current(w Writer, notes NoteStore) *tokens {
	if k.doubted.Load() {
		_ = k.load(context.Background(), w, notes) // on an error the next call reads it
	}
	return k.tokens.Load()
}

func (k *keyring) load(ctx context.Context, w Writer, notes NoteStore) error {
	k.doubted.Store(false) // a later doubt leads to another read
	key, err := tokenKey(ctx, w, notes)
	if err != nil {
		k.doubted.Store(true)
		return err
	}
	k.tokens.Store(newTokens(key))
	return nil
}

// tokens is safe for concurrent use.
type tokens struct {
	coders sync.Pool
}

// coder makes one token at a time without allocations.
type coder struct {
	keyed hash.Hash
	facts [16 + 3*8]byte
	sum   [sha256.Size]byte
	text  [maxToken]byte
}

func newTokens(key []byte) *tokens {
	return &tokens{coders: sync.Pool{New: func() any { return &coder{keyed: hmac.New(sha256.New, key)} }}}
}

// The token is valid until the next call.
func (c *coder) make(r LeaseRef) []byte {
	facts := append(c.facts[:0], r.Step[:]...)
	for _, n := range [...]int64{r.Worker, r.Token, int64(r.At)} {
		facts = binary.BigEndian.AppendUint64(facts, uint64(n))
	}
	c.keyed.Reset()
	_, _ = c.keyed.Write(facts) // a hash never fails
	code := c.keyed.Sum(c.sum[:0])[:tokenCode]
	text := append(strconv.AppendInt(c.text[:0], r.Token, 10), '.')
	text = append(strconv.AppendInt(text, int64(r.At), 36), '.')
	return base64.RawURLEncoding.AppendEncode(text, code)
}

func tokenKey(ctx context.Context, w Writer, notes NoteStore) ([]byte, error) {
	text, err := notes.FindNote(ctx, tokenKeyNote)
	if err == nil && text == "" {
		var fresh [tokenKeySize]byte
		_, _ = rand.Read(fresh[:]) // never fails: it crashes instead
		made := base64.RawStdEncoding.EncodeToString(fresh[:])
		if err = w.Write(ctx, func(ctx context.Context, tx Tx) error {
			return notes.FirstNote(ctx, tx, tokenKeyNote, made)
		}); err == nil {
			text, err = notes.FindNote(ctx, tokenKeyNote) // another process may be first
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of tokens: %w", err)
	}
	key, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(key) != tokenKeySize {
		return nil, fmt.Errorf("the key of tokens, %s in tasker_meta, is damaged: delete it, and leases in force are lost",
			tokenKeyNote)
	}
	return key, nil
}

// given is the hand-out time in a token: 0 where the number is a time.
func given(number int64, at task.Instant) task.Instant {
	if task.CountedToken(number) {
		return at
	}
	return 0
}

func (t *tokens) of(r LeaseRef) string {
	c := t.coders.Get().(*coder)
	defer t.coders.Put(c)
	return string(c.make(r))
}

func (t *tokens) isOf(r LeaseRef, token string) bool {
	c := t.coders.Get().(*coder)
	defer t.coders.Put(c)
	return subtle.ConstantTimeCompare(c.make(r), []byte(token)) == 1
}

// read returns Token 0, which is never in force, for a token not given to this worker for this step. The comparison
// takes constant time.
func (t *tokens) read(step task.ID, worker int64, token string) LeaseRef {
	r := LeaseRef{Step: step, Worker: worker}
	if len(token) > maxToken {
		return r
	}
	number, rest, _ := strings.Cut(token, ".")
	at, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	when, err2 := strconv.ParseInt(at, 36, 64)
	if err != nil || err2 != nil || n <= 0 {
		return r
	}
	if lease := (LeaseRef{Step: step, Worker: worker, Token: n, At: task.Instant(when)}); t.isOf(lease, token) {
		return lease
	}
	return r
}

// Token returns the token of a step's lease for its worker.
func (e *Kernel) Token(s *task.Step) string {
	return e.keys.current(e.Store, e.NoteStore).of(
		LeaseRef{Step: s.ID, Worker: s.WorkerNo, Token: s.Token, At: given(s.Token, s.AssignedAt)})
}

// LeaseOf returns the lease of a worker's token. A token of another worker, step or database is like an unknown
// lease.
func (e *Kernel) LeaseOf(step task.ID, worker int64, token string) LeaseRef {
	return e.keys.current(e.Store, e.NoteStore).read(step, worker, token)
}

func CompareIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }
