package amqp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
)

// Bytes arrive in order, in fewer writes while the other side is slow.
func TestCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		w := coalesce(ours)
		var want []byte
		for i := range 1000 {
			p := []byte{byte(i), byte(i >> 8)}
			want = append(want, p...)
			if n, err := w.Write(p); n != 2 || err != nil {
				t.Fatal(n, err)
			}
		}
		got, reads := make([]byte, 0, len(want)), 0
		for buffer := make([]byte, 4096); len(got) < len(want); reads++ {
			n, err := theirs.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buffer[:n]...)
		}
		if !bytes.Equal(got, want) || reads > 3 {
			t.Errorf("%d bytes in %d reads", len(got), reads)
		}
		// Write waits while the other side does not read, and ends with Close.
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := w.Write(make([]byte, enough)); err != nil {
					ended <- err
					return
				}
			}
		}()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a write that waits for a connection that is closed: %v", err)
		}
	})
}

func TestCoalescedError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		w := coalesce(ours)
		_ = theirs.Close()
		_, _ = w.Write([]byte("lost"))
		synctest.Wait()
		if _, err := w.Write([]byte("more")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after an error: %v", err)
		}
		_ = w.Close()
	})
}
