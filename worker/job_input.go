package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// Context returns the context of the job's task as a T; without a context, the zero T.
//
// A context that does not fit into T is an error that, returned or wrapped, fails the step for good: only an operator
// can edit the context and run the step again. Its Failure has the type "invalid_input" and Details with the JSON
// pointer of the value in the step's input, such as {"pointer": "/context/items/2/price"}. errors.As finds it, and
// the error of encoding/json.
func Context[T any](job *Job) (T, error) {
	var out T
	err := job.Decode(&out)
	return out, err
}

// ParentResult returns the result of the direct dependency called name as a T. A result that does not fit is an error
// like one of Context, with a pointer such as "/parent_results/charge/amount".
//
// CodeNotFound, which also fails the step for good if returned: name is no dependency of the step, returned no result
// (or null), or was resolved manually.
func ParentResult[T any](job *Job, name string) (T, error) {
	var out T
	err := job.ParentResult(name, &out)
	return out, err
}

// decodeInput unmarshals raw, which is at the pointer /root in the input of a step, into out.
func decodeInput(raw json.RawMessage, out any, root, what string) error {
	if envelope.Within(raw) { // else fields of out would stay empty
		if e, at, found := envelope.Find(raw); found {
			return undecoded(&tasker.DecodeError{Pointer: at, Codec: e.Codec, Key: e.Key}, "/"+root, what)
		}
	}
	err := json.Unmarshal(raw, out)
	if err == nil {
		return nil
	}
	at := "/" + root
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		at += pointerAt(raw, mismatch.Offset)
	}
	details, _ := json.Marshal(map[string]string{"pointer": at}) // strings always marshal
	return NonRetryable(&inputError{
		Failure: tasker.Failure{Type: "invalid_input", Message: fmt.Sprintf("decode %s at %s: %v", what, at, err),
			Details: details},
		cause: err,
	})
}

// inputError has the failure that the server stores, and its cause.
type inputError struct {
	tasker.Failure
	cause error
}

func (e *inputError) Unwrap() []error { return []error{&e.Failure, e.cause} }

func (e *inputError) Error() string { return e.Message }

// pointerAt returns the JSON pointer of the value whose first or last token ends at offset in valid JSON:
// encoding/json reports a misfit there. "" means the whole document.
func pointerAt(raw json.RawMessage, offset int64) string {
	type level struct {
		array bool
		index int
		key   string
		value bool // in an object: a value comes next
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack) - 1; n >= 0 && !stack[n].array && !stack[n].value {
			stack[n].key, stack[n].value = token.(string), true
			continue
		}
		if n := len(stack) - 1; n >= 0 {
			stack[n].index++
			stack[n].value = false
		}
		if dec.InputOffset() >= offset {
			at := ""
			for _, l := range stack {
				if l.array {
					at += "/" + strconv.Itoa(l.index)
				} else {
					at += "/" + pointer.Escape(l.key)
				}
			}
			return at
		}
		if delim, ok := token.(json.Delim); ok {
			stack = append(stack, level{array: delim == '[', index: -1})
		}
	}
}
