package task

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// LargeResult is a result above the inline limit: an object in the blob store. The step that completed with it has a
// reference to it as its result. See docs/design/0055-large-results.md.
type LargeResult struct {
	// Key is the key of the object. It begins with the ID of the step.
	Key    string
	Step   ID
	Token  int64 // of the lease under which it was sent
	Bytes  int64
	SHA256 string // in hexadecimal
	State  LargeResultState
	At     Instant // when it was last sent
}

// LargeResultState is what is known about the object of a LargeResult.
type LargeResultState int

// The states of large results.
const (
	// LargeSent: it was sent, or is being sent, and no result refers to it.
	LargeSent LargeResultState = 0
	// LargeTaken: the step completed with it.
	LargeTaken LargeResultState = 1
	// LargeDoomed: nothing will refer to it any more; the object is to be deleted.
	LargeDoomed LargeResultState = 2
)

// NewLargeResult returns the large result of a lease. The same content under the same lease has the same key, so that a
// worker may send it again.
func NewLargeResult(step ID, token, size int64, sum [32]byte, now Instant) *LargeResult {
	digest := hex.EncodeToString(sum[:])
	return &LargeResult{Key: LargeResultsOf(step) + strconv.FormatInt(token, 10) + "-" + digest, Step: step, Token: token,
		Bytes: size, SHA256: digest, At: now}
}

// LargeResultsOf is the beginning of the keys of a step.
func LargeResultsOf(step ID) string { return step.String() + "/" }

// largeMark is the beginning of the document that refers to a large result.
const largeMark = `{"$tasker:large_result":`

type largeReference struct {
	Key    string `json:"key"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Reference returns the document that a step has as its result in place of the large one.
func (l *LargeResult) Reference() []byte {
	inner, _ := json.Marshal(largeReference{l.Key, l.Bytes, l.SHA256}) // strings and numbers always marshal
	return slices.Concat([]byte(largeMark), inner, []byte("}"))
}

// LargeResultOf returns what the result of a step refers to; nil for a result that is one itself. A reference to an
// object of another step is none, whoever wrote it.
func LargeResultOf(step ID, result []byte) *LargeResult {
	if !bytes.HasPrefix(result, []byte(largeMark)) {
		return nil
	}
	var doc struct {
		Reference largeReference `json:"$tasker:large_result"`
	}
	if json.Unmarshal(result, &doc) != nil {
		return nil
	}
	r := doc.Reference
	rest, own := strings.CutPrefix(r.Key, LargeResultsOf(step))
	token, digest, _ := strings.Cut(rest, "-")
	number, err := strconv.ParseInt(token, 10, 64)
	if raw, wrong := hex.DecodeString(digest); !own || err != nil || wrong != nil || len(raw) != 32 ||
		digest != r.SHA256 || r.Bytes <= 0 {
		return nil
	}
	return &LargeResult{Key: r.Key, Step: step, Token: number, Bytes: r.Bytes, SHA256: r.SHA256, State: LargeTaken}
}
