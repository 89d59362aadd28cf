package task

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// LargeResult is a result above the inline limit: an object in the blob store, which the step's result names. See
// docs/design/0055-large-results.md.
type LargeResult struct {
	// Key begins with the ID of the step.
	Key    string
	Step   ID
	Token  int64 // of the lease under which it was sent
	Bytes  int64
	SHA256 string
	State  LargeResultState
	At     Instant
}

// LargeResultState is the state of a LargeResult's object.
type LargeResultState int

const (
	// LargeSent has no reference yet; the upload may still run.
	LargeSent LargeResultState = 0
	// LargeTaken has a reference in a completed step.
	LargeTaken LargeResultState = 1
	// LargeDoomed is to be deleted and gets no reference.
	LargeDoomed LargeResultState = 2
)

// NewLargeResult returns the large result of a lease. Equal content under one lease has one key, so a worker can
// repeat an upload.
func NewLargeResult(step ID, token, size int64, sum [32]byte, now Instant) *LargeResult {
	digest := hex.EncodeToString(sum[:])
	return &LargeResult{Key: LargeResultsOf(step) + strconv.FormatInt(token, 10) + "-" + digest, Step: step, Token: token,
		Bytes: size, SHA256: digest, At: now}
}

// LargeResultsOf is the key prefix of a step.
func LargeResultsOf(step ID) string { return step.String() + "/" }

const largeMark = `{"$tasker:large_result":`

type largeReference struct {
	Key    string `json:"key"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Reference returns the document that replaces the large result in the step.
func (l *LargeResult) Reference() []byte {
	inner, _ := json.Marshal(largeReference{l.Key, l.Bytes, l.SHA256}) // strings and numbers always marshal
	return slices.Concat([]byte(largeMark), inner, []byte("}"))
}

// LargeResultOf returns the object that a step's result names, nil for an inline result. It ignores objects of other
// steps.
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
