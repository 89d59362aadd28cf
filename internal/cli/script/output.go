package script

import (
	"bytes"
	"errors"
)

// limited keeps writes up to a limit; one beyond it calls over and fails.
type limited struct {
	limit    int
	over     func()
	buf      bytes.Buffer
	exceeded bool
}

var errTooMuch = errors.New("too much output")

func (l *limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > l.limit {
		l.exceeded = true
		l.over()
		return 0, errTooMuch
	}
	return l.buf.Write(p)
}

// tail keeps the end of its writes.
type tail struct {
	limit int
	buf   []byte
	lost  bool // earlier bytes were dropped
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.buf = append(t.buf, p...)
	// Cut rarely, because a program may write many small pieces.
	if len(t.buf) > 2*t.limit {
		t.cut()
	}
	return n, nil
}

func (t *tail) cut() {
	if extra := len(t.buf) - t.limit; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
		t.lost = true
	}
}

// String marks an incomplete end.
func (t *tail) String() string {
	t.cut()
	if t.lost {
		return "..." + string(t.buf)
	}
	return string(t.buf)
}
