package tasker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
)

// Codec encodes values in the application, so that servers, databases and brokers never see them in clear text.
// Package codec has one that encrypts. Its methods are safe for concurrent use and may call other systems: ctx is
// that of the call or of the handler.
type Codec interface {
	// Name is the name of the codec, which values carry and servers show: at most 64 of a to z, 0 to 9, ".", "_" and
	// "-". It selects the codec that decodes a value.
	Name() string
	// Encode encodes a JSON value. The same value may be encoded differently each time.
	Encode(ctx context.Context, plain []byte) (Encoded, error)
	// Decode returns the argument of Encode. In a worker, an error fails the attempt with ClassWorker, unless
	// WithClass or NonRetryable of package worker override it.
	Decode(ctx context.Context, value Encoded) ([]byte, error)
}

// Encoded is an encoded value.
type Encoded struct {
	// Key is the name of the key, "" without one: at most 255 printable ASCII characters. Servers show it.
	Key  string
	Data []byte
}

// CodecOptions selects the values that a Client encodes. Fields are JSON pointers, such as "/card"; the segment *
// matches every member and element: /lines/*/pin. Other values stay in clear text, so that expressions of templates
// can read them. null is never encoded, and a text in the middle of a pointer is encoded whole.
type CodecOptions struct {
	Codec Codec
	// Older decode values of other codecs.
	Older []Codec
	// ContextFields select values in contexts of tasks. nil selects contexts whole; an empty list that is not nil
	// selects nothing.
	ContextFields []string
	// ResultFields are the same for results of steps. Checkpoints are encoded whole.
	ResultFields []string
}

// WithCodec returns a Client of the same Backend that encodes the contexts of tasks that it submits or edits, and
// decodes contexts, results and checkpoints. Its workers decode the input of handlers, and encode results and
// checkpoints. Values in clear text stay readable, so a codec can be added while tasks exist.
//
// In tasks and steps, a value that cannot be decoded stays encoded; Result and handlers return an error with a
// *DecodeError in its chain. Nothing but contexts, results and checkpoints is encoded: not error messages, logs,
// progress messages, keys or tags. For signals, schedules and messages of brokers use EncodeValue. The methods of the
// worker protocol are those of the Backend.
//
// CodeInvalid: there is no codec, or a name or a field is not valid.
func (c *Client) WithCodec(opts CodecOptions) (*Client, error) {
	k := &coder{by: opts.Codec, known: map[string]Codec{}}
	if opts.Codec == nil {
		return nil, Errorf(CodeInvalid, "CodecOptions has no Codec")
	}
	for _, one := range append([]Codec{opts.Codec}, opts.Older...) {
		if one == nil || !envelope.ValidName(one.Name()) {
			return nil, Errorf(CodeInvalid, "a codec is nil or has no valid name: a to z, 0 to 9, '.', '_' and '-'")
		}
		if k.known[one.Name()] == nil {
			k.known[one.Name()] = one
		}
	}
	var err error
	if k.contexts, err = fieldsOf(opts.ContextFields); err == nil {
		k.results, err = fieldsOf(opts.ResultFields)
	}
	if err != nil {
		return nil, Errorf(CodeInvalid, "the fields of a codec: %v", err)
	}
	return &Client{Backend: c.Backend, server: c.server, coder: k}, nil
}

func fieldsOf(pointers []string) (*sensitive.Set, error) {
	if pointers == nil {
		return sensitive.All(), nil
	}
	return sensitive.Parse(pointers)
}

// EncodeValue returns v as JSON, encoded whole, for values that the Client does not encode: the payload of a signal,
// the context of a schedule, a message of a broker. Without a codec it returns clear text.
func (c *Client) EncodeValue(ctx context.Context, v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a value: %w", err)
	}
	if c.coder == nil {
		return raw, nil
	}
	return c.coder.encode(ctx, raw, sensitive.All())
}

// EncodeResult encodes the result of a step, a JSON document, as CodecOptions.ResultFields select. Package worker
// calls it; so must others that settle steps. Without a codec it returns result. CodeInvalid: the result has a member
// that is reserved for encoded values. Other errors wrap those of the codec.
func (c *Client) EncodeResult(ctx context.Context, result json.RawMessage) (json.RawMessage, error) {
	if c.coder == nil {
		return result, nil
	}
	out, err := c.coder.encode(ctx, result, c.coder.results)
	if reserved, is := err.(*reservedError); is { //nolint:errorlint // encode returns it bare
		return nil, Errorf(CodeInvalid, "%v", reserved)
	}
	return out, err
}

// HasCodec reports whether the Client has a codec.
func (c *Client) HasCodec() bool { return c.coder != nil }

// DecodeValue unmarshals a JSON document into out and decodes values at any depth.
func (c *Client) DecodeValue(ctx context.Context, raw json.RawMessage, out any) error {
	plain, err := c.coder.decode(ctx, raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, out)
}

// EncodeTasks returns the requests with encoded contexts, for other ways of submission than those of Client. Without
// a codec it returns tasks.
func (c *Client) EncodeTasks(ctx context.Context, tasks []TaskRequest) ([]TaskRequest, error) {
	if c.coder == nil {
		return tasks, nil
	}
	out := make([]TaskRequest, len(tasks))
	for i, t := range tasks {
		var err error
		if t.Context, err = c.coder.encode(ctx, t.Context, c.coder.contexts); err != nil {
			return nil, located(err, fmt.Sprintf("/tasks/%d/context", i))
		}
		out[i] = t
	}
	return out, nil
}

// located puts the place of a value before that of its error.
func located(err error, at string) error {
	e := Errorf(CodeInvalid, "a value cannot be encoded: %v", err)
	e.Err = err
	if own, is := err.(*reservedError); is { //nolint:errorlint // encode returns it bare
		at += own.pointer
	}
	e.Details = []Detail{{Location: at, Message: err.Error()}}
	return e
}

type coder struct {
	by       Codec
	known    map[string]Codec
	contexts *sensitive.Set
	results  *sensitive.Set
}

// DecodeError is the reason why an encoded value cannot be decoded.
type DecodeError struct {
	Pointer    string
	Codec, Key string
	// Err is the error of the codec; nil if there is no codec of that name.
	Err error
}

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

func (e *DecodeError) Unwrap() error { return e.Err }

// reservedError refuses a value that has the member by which encoded values are recognised.
type reservedError struct{ pointer string }

func (e *reservedError) Error() string {
	return fmt.Sprintf("the object at %q has the member %s, which only encoded values have", e.pointer, envelope.Member)
}

const masked = `"` + sensitive.Mask + `"`

// encode replaces the selected values of a document, except null.
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

// show is decode for reading: values that cannot be decoded stay encoded.
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
