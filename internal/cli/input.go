package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/taskerhq/tasker"
)

const (
	batchLines = 1000     // the server's default limit of a call
	batchBytes = 4 << 20  // below the server's limit on a body
	maxLine    = 16 << 20 // beyond any server's limit
)

// open opens a file; - is standard input. A missing file is a usage error.
func (s *session) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError{err}
	}
	return f, nil
}

func (s *session) readFile(name string) ([]byte, error) {
	f, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("read %s: %w", name, err)}
	}
	return b, nil
}

// jsonFlag parses JSON, @FILE, or - for standard input; nil for "". Unlike the server, it can name the flag.
func (s *session) jsonFlag(flag, value string) (json.RawMessage, error) {
	raw := []byte(value)
	switch name, isFile := strings.CutPrefix(value, "@"); {
	case value == "":
		return nil, nil
	case value == "-", isFile:
		var err error
		if raw, err = s.readFile(name); err != nil {
			return nil, err
		}
	}
	var v json.RawMessage
	if err := json.Unmarshal(raw, &v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, usagef("%s is not JSON: %s at byte %d", flag, syntax, syntax.Offset)
		}
		return nil, usagef("%s is not JSON: %w", flag, err)
	}
	return bytes.TrimSpace(v), nil
}

// batches submits one task per line in batches for one call, without empty lines. At an invalid line it stops
// before that batch, with the line's number. submit must not keep the slice.
func (s *session) batches(name string, submit func([]tasker.TaskRequest) error) error {
	f, err := s.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	lines := bufio.NewScanner(f)
	// A scanner stops at 64 KiB by default.
	lines.Buffer(nil, maxLine)
	var batch []tasker.TaskRequest
	n, first, size := 0, 1, 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := submit(batch); err != nil {
			return fmt.Errorf("submit %s from line %d: %w", name, first, err)
		}
		batch, first, size = batch[:0], n, 0
		return nil
	}
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if len(batch) == batchLines || size+len(line) > batchBytes {
			if err := send(); err != nil {
				return err
			}
		}
		req, err := decodeTask(line)
		if err != nil {
			return usagef("%s:%d: %w; nothing from line %d on was submitted", name, n, err, first)
		}
		batch, size = append(batch, req), size+len(line)
	}
	if err := lines.Err(); err != nil {
		return usageError{fmt.Errorf("read %s: %w", name, err)}
	}
	return send()
}

// decodeTask refuses unknown fields, usually misspelt ones, and a second value.
func decodeTask(line []byte) (tasker.TaskRequest, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var req tasker.TaskRequest
	if err := dec.Decode(&req); err != nil {
		return req, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return req, errors.New("more than one JSON value on the line")
	}
	return req, nil
}
