package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/pointer"
)

// decodeInput decodes a handler's input. An error is a failure of the worker, not of the step: another worker may
// have the missing key or codec.
func (s *session) decodeInput(job *Job) error {
	if s.codec == nil {
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

func (s *session) decodeParent(job *Job, name string, raw json.RawMessage) (json.RawMessage, error) {
	return s.decode(job, raw, "/parent_results/"+pointer.Escape(name), "the result of "+name)
}

func (s *session) decode(job *Job, doc json.RawMessage, root, what string) (json.RawMessage, error) {
	if s.codec == nil || len(doc) == 0 {
		return doc, nil
	}
	var plain json.RawMessage
	if err := s.codec.DecodeValue(job.ctx, doc, &plain); err != nil {
		return nil, undecoded(err, root, what+", for step "+job.StepName)
	}
	return plain, nil
}

// encodeTime bounds the encoding of a result whose handler has ended.
const encodeTime = 10 * time.Second

func (s *session) encodeResult(job *Job, out any) (json.RawMessage, error) {
	raw, err := encodeResult(out)
	if err != nil || s.codec == nil {
		return raw, err
	}
	// a handler may succeed although its context has ended
	ctx, cancel := context.WithTimeout(context.WithoutCancel(job.ctx), encodeTime)
	defer cancel()
	raw, err = s.codec.EncodeResult(ctx, raw)
	if err == nil {
		return raw, nil
	}
	if _, reserved := err.(*tasker.Error); reserved { //nolint:errorlint // an Error of the codec is in a chain
		return nil, NonRetryable(&tasker.Failure{Type: "invalid_result", Message: fmt.Sprintf("encode the result: %v", err)})
	}
	return nil, fmt.Errorf("encode the result: %w", &inputError{
		Failure: tasker.Failure{Type: "codec", Code: codeCodec, Message: err.Error(), Class: tasker.ClassWorker}, cause: err})
}

const codeCodec = "CODEC"

func undecoded(err error, root, what string) error {
	details := map[string]string{"pointer": root}
	var which *tasker.DecodeError
	if errors.As(err, &which) {
		details["pointer"] += which.Pointer
		details["codec"] = which.Codec
		if which.Key != "" {
			details["key"] = which.Key
		}
	}
	raw, _ := json.Marshal(details) // strings always marshal
	return &inputError{
		Failure: tasker.Failure{Type: "codec", Code: codeCodec, Message: fmt.Sprintf("%s: %v", what, err),
			Class: tasker.ClassWorker, Details: raw},
		cause: err,
	}
}
