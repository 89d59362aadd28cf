package engine

import (
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

	"github.com/taskerhq/tasker/internal/task"
)

// A worker shows a token for each lease that it was given. Inside, a lease is known by
// its number, which orders the leases of a step and says nothing of who may use it; the
// token is the number, the time of the hand-out, and a code over both and over step and
// worker, under a key that only the processes on one database know. So a token can be
// neither guessed nor used by another worker, it is good after a restart of whatever
// remembered the lease, and nothing has to be stored for it.

const (
	// tokenKeyNote is where the key is kept. It moves along with the database.
	tokenKeyNote = "token_key"
	tokenKeySize = 32
	// tokenCode is how many bytes of the code a token carries.
	tokenCode = 12
	// maxToken bounds what is worth a look.
	maxToken = 64
)

// keyring has the tokens of the database that this process knows. A database that took its
// place may have another key.
type keyring struct {
	tokens  atomic.Pointer[tokens]
	doubted atomic.Bool // the key has to be read before it is used
}

// current returns the tokens in force. While a key that is in doubt cannot be read, they are the ones
// from before.
func (k *keyring) current(w Writer, notes NoteStore) *tokens {
	if k.doubted.Load() {
		_ = k.load(context.Background(), w, notes) // else the next call reads it
	}
	return k.tokens.Load()
}

func (k *keyring) load(ctx context.Context, w Writer, notes NoteStore) error {
	k.doubted.Store(false) // what is doubted from here on is read again
	key, err := tokenKey(ctx, w, notes)
	if err != nil {
		k.doubted.Store(true)
		return err
	}
	k.tokens.Store(newTokens(key))
	return nil
}

// tokens makes the tokens of leases, and reads them. It is safe for concurrent use.
type tokens struct {
	coders sync.Pool // of *coder
}

// coder makes one token at a time.
type coder struct {
	keyed hash.Hash
	facts [16 + 3*8]byte
	sum   [sha256.Size]byte
	text  [maxToken]byte
}

func newTokens(key []byte) *tokens {
	return &tokens{coders: sync.Pool{New: func() any { return &coder{keyed: hmac.New(sha256.New, key)} }}}
}

// make returns the token of a lease, until the next one is made.
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

// tokenKey returns the key of the store, and makes one where there is none yet.
func tokenKey(ctx context.Context, w Writer, notes NoteStore) ([]byte, error) {
	text, err := notes.FindNote(ctx, tokenKeyNote)
	if err == nil && text == "" {
		var fresh [tokenKeySize]byte
		_, _ = rand.Read(fresh[:]) // never fails: it crashes the program instead
		made := base64.RawStdEncoding.EncodeToString(fresh[:])
		if err = w.Write(ctx, func(ctx context.Context, tx Tx) error {
			return notes.FirstNote(ctx, tx, tokenKeyNote, made)
		}); err == nil {
			text, err = notes.FindNote(ctx, tokenKeyNote) // another process may have been first
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

// given is when a lease was handed out, as far as its token tells: 0 where its number
// is a time itself.
func given(number int64, at task.Instant) task.Instant {
	if task.CountedToken(number) {
		return at
	}
	return 0
}

// of returns the token of a lease.
func (t *tokens) of(r LeaseRef) string {
	c := t.coders.Get().(*coder)
	defer t.coders.Put(c)
	return string(c.make(r))
}

// isOf reports whether a token is that of a lease.
func (t *tokens) isOf(r LeaseRef, token string) bool {
	c := t.coders.Get().(*coder)
	defer t.coders.Put(c)
	return subtle.ConstantTimeCompare(c.make(r), []byte(token)) == 1
}

// read returns the lease of a token that was given to a worker. The Token of one that was
// not, whatever else it is, is 0, which is never in force.
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

// Token is what the worker who holds a step shows for its lease.
func (e *Engine) Token(s *task.Step) string {
	return e.keys.current(e.store, e.noteStore).of(
		LeaseRef{Step: s.ID, Worker: s.WorkerNo, Token: s.Token, At: given(s.Token, s.AssignedAt)})
}

// LeaseOf is the lease that a worker means by a token. One that was not given to this
// worker for this step, in this database, is as if there were no such lease.
func (e *Engine) LeaseOf(step task.ID, worker int64, token string) LeaseRef {
	return e.keys.current(e.store, e.noteStore).read(step, worker, token)
}
