package tasker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

// coder encodes and decodes values as the options of a Client say. A nil coder decodes nothing.
type coder struct {
	by       Codec
	known    map[string]Codec
	contexts *sensitive.Set
	results  *sensitive.Set
}

// DecodeError is why an encoded value cannot be decoded.
type DecodeError struct {
	// Pointer is the place of the value in its document.
	Pointer string
	// Codec and Key are those that the value was encoded with.
	Codec, Key string
	// Err is the error of the codec; nil if there is no codec of that name.
	Err error
}

// Error implements error. It shows nothing of the value.
func (e *DecodeError) Error() string {
	at := "the value"
	if e.Pointer != "" {
		at = "the value at " + e.Pointer
	}
	with := "codec " + e.Codec
	if e.Key != "" {
		with += ", key " + e.Key
	}
	if e.Err == nil {
		return fmt.Sprintf("%s is encoded (%s), and there is no codec of that name here", at, with)
	}
	return fmt.Sprintf("%s cannot be decoded (%s): %v", at, with, e.Err)
}

// Unwrap returns the error of the codec.
func (e *DecodeError) Unwrap() error { return e.Err }

// reservedError is that of a value that has the member by which encoded values are recognised.
type reservedError struct{ pointer string }

func (e *reservedError) Error() string {
	return fmt.Sprintf("the object at %q has the member %s, which only encoded values have", e.pointer, envelope.Member)
}

// masked stands for a sensitive value that was not shown.
const masked = `"` + sensitive.Mask + `"`

// encode replaces what the set selects in a document. nil, null and what is not selected stay as they are.
func (k *coder) encode(ctx context.Context, doc json.RawMessage, set *sensitive.Set) (json.RawMessage, error) {
	if at, found := envelope.Reserved(doc); found {
		return nil, &reservedError{at}
	}
	if len(doc) > 0 && !json.Valid(doc) {
		return nil, errors.New("it is not JSON")
	}
	return set.Rewrite(doc, false, nil, func(_ string, value []byte) ([]byte, error) {
		if string(value) == masked {
			return value, nil // the server refuses it: encoded, it would replace what is hidden
		}
		out, err := k.by.Encode(ctx, value)
		if err != nil {
			return nil, fmt.Errorf("codec %s: %w", k.by.Name(), err)
		}
		if !envelope.ValidKey(out.Key) {
			return nil, fmt.Errorf("codec %s: the name of its key is too long, or not printable ASCII", k.by.Name())
		}
		return envelope.Envelope{Codec: k.by.Name(), Key: out.Key, Data: out.Data}.MarshalJSON()
	})
}

// decode replaces all encoded values of a document, or returns a *DecodeError.
func (k *coder) decode(ctx context.Context, doc json.RawMessage) (json.RawMessage, error) {
	return envelope.Rewrite(doc, func(pointer string, e envelope.Envelope) ([]byte, error) {
		return k.open(ctx, pointer, e)
	})
}

func (k *coder) open(ctx context.Context, pointer string, e envelope.Envelope) ([]byte, error) {
	failed := &DecodeError{Pointer: pointer, Codec: e.Codec, Key: e.Key}
	if k == nil || k.known[e.Codec] == nil {
		return nil, failed
	}
	plain, err := k.known[e.Codec].Decode(ctx, Encoded{Key: e.Key, Data: e.Data})
	if err == nil && !json.Valid(plain) {
		err = errors.New("what it decodes to is not JSON")
	}
	if err != nil {
		failed.Err = err
		return nil, failed
	}
	return plain, nil
}

// show is decode for a document that is only looked at: what cannot be decoded stays as it is.
func (k *coder) show(ctx context.Context, doc *json.RawMessage) {
	out, err := envelope.Rewrite(*doc, func(pointer string, e envelope.Envelope) ([]byte, error) {
		plain, err := k.open(ctx, pointer, e)
		if err != nil {
			return e.MarshalJSON()
		}
		return plain, nil
	})
	if err == nil {
		*doc = out
	}
}

// decodeInput decodes what a handler gets. The error is a failure of the worker, not of the step: another worker may
// have what this one lacks.
func (s *session) decodeInput(job *Job) error {
	if s.coder == nil {
		return nil
	}
	var err error
	if job.Parameters, err = s.decode(job, job.Parameters, "/context", "the context"); err != nil {
		return err
	}
	job.Assignment.Checkpoint, err = s.decode(job, job.Assignment.Checkpoint, "/checkpoint", "the checkpoint")
	if err != nil {
		return err
	}
	results := make(map[string]json.RawMessage, len(job.ParentResults)) // that of the Backend may be shared
	for name, result := range job.ParentResults {
		if results[name], err = s.decodeParent(job, name, result); err != nil {
			return err
		}
	}
	job.ParentResults = results
	return nil
}

// decodeParent decodes the result of a parent.
func (s *session) decodeParent(job *Job, name string, raw json.RawMessage) (json.RawMessage, error) {
	return s.decode(job, raw, "/parent_results/"+pointer.Escape(name), "the result of "+name)
}

func (s *session) decode(job *Job, doc json.RawMessage, root, what string) (json.RawMessage, error) {
	if s.coder == nil {
		return doc, nil
	}
	plain, err := s.coder.decode(job.ctx, doc)
	if err != nil {
		return nil, undecoded(err, root, what+", for step "+job.StepName)
	}
	return plain, nil
}

// encodeTime bounds the encoding of a result whose handler has ended.
const encodeTime = 10 * time.Second

// encodeResult returns what a handler returned as JSON, encoded.
func (s *session) encodeResult(job *Job, out any) (json.RawMessage, error) {
	raw, err := encodeResult(out)
	if err != nil || s.coder == nil {
		return raw, err
	}
	// a handler may succeed although its context has ended
	ctx, cancel := context.WithTimeout(context.WithoutCancel(job.ctx), encodeTime)
	defer cancel()
	raw, err = s.coder.encode(ctx, raw, s.coder.results)
	var reserved *reservedError
	switch {
	case err == nil:
		return raw, nil
	case errors.As(err, &reserved):
		return nil, NonRetryable(&Failure{Type: "invalid_result", Message: fmt.Sprintf("encode the result: %v", err)})
	}
	return nil, fmt.Errorf("encode the result: %w", &inputError{
		Failure: Failure{Type: "codec", Code: codeCodec, Message: err.Error(), Class: ClassWorker}, cause: err})
}

// codeCodec is the code of a failure of an attempt whose worker cannot decode its input, or encode its result.
const codeCodec = "CODEC"

// undecoded is the failure of a step whose input cannot be decoded.
func undecoded(err error, root, what string) error {
	details := map[string]string{"pointer": root}
	var which *DecodeError
	if errors.As(err, &which) {
		details["pointer"] += which.Pointer
		details["codec"] = which.Codec
		if which.Key != "" {
			details["key"] = which.Key
		}
	}
	raw, _ := json.Marshal(details) // strings always marshal
	return &inputError{
		Failure: Failure{Type: "codec", Code: codeCodec, Message: fmt.Sprintf("%s: %v", what, err), Class: ClassWorker,
			Details: raw},
		cause: err,
	}
}
