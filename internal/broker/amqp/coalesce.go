package amqp

import (
	"net"
	"sync"
)

// coalesced collects small writes while the last write is under way: the library writes each message separately, and
// one system call for many is several times as fast. A write may return the error of an earlier one.
type coalesced struct {
	net.Conn

	mu      sync.Mutex
	changed sync.Cond
	buffer  []byte
	spare   []byte
	err     error
	closed  bool
}

// enough is the size of the buffer above which Write waits.
const enough = 256 << 10

// coalesce wraps a connection. Close ends its goroutine.
func coalesce(c net.Conn) *coalesced {
	w := &coalesced{Conn: c}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// Write implements net.Conn. It blocks while the buffer is full.
func (w *coalesced) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.buffer) >= enough && w.err == nil && !w.closed {
		w.changed.Wait()
	}
	if w.err != nil {
		return 0, w.err
	}
	if w.closed {
		return 0, net.ErrClosed
	}
	w.buffer = append(w.buffer, p...)
	w.changed.Broadcast()
	return len(p), nil
}

func (w *coalesced) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil {
		for len(w.buffer) == 0 && !w.closed {
			w.changed.Wait()
		}
		if len(w.buffer) == 0 {
			return
		}
		next := w.buffer
		w.buffer = w.spare[:0]
		w.changed.Broadcast()
		w.mu.Unlock()
		_, err := w.Conn.Write(next)
		w.mu.Lock()
		w.spare = next
		w.err = err
	}
	w.changed.Broadcast()
}

// Close implements net.Conn. The buffer is still written.
func (w *coalesced) Close() error {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	return w.Conn.Close()
}
