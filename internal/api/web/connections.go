package web

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// maxExplained bounds the concurrent explanations of refused connections.
const maxExplained = 64

const farewellTimeout = 500 * time.Millisecond

// LimitConnections returns a listener that keeps at most n connections open. It answers a further one with 503 and
// closes it: a waiting client would not learn the reason.
func LimitConnections(ln net.Listener, n int) net.Listener {
	return &limitedListener{Listener: ln, slots: make(chan struct{}, n), farewells: make(chan struct{}, maxExplained)}
}

// limitedListener keeps accepting beyond the limit: with a full backlog the kernel would drop connections without an
// answer.
type limitedListener struct {
	net.Listener
	slots     chan struct{}
	farewells chan struct{} // one entry for each explanation in progress
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &limitedConn{Conn: conn, release: func() { <-l.slots }}, nil
		default:
			l.refuse(conn)
		}
	}
}

// refuse explains the reason if few others are being answered.
func (l *limitedListener) refuse(conn net.Conn) {
	select {
	case l.farewells <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	go func() {
		defer func() { <-l.farewells }()
		defer func() { _ = conn.Close() }() // it ends either way
		_ = conn.SetDeadline(time.Now().Add(farewellTimeout))
		if _, err := conn.Write(fullAnswer(cap(l.slots))); err != nil {
			return
		}
		if half, can := conn.(interface{ CloseWrite() error }); can {
			_ = half.CloseWrite()
		}
		// Closing with an unread request would cut the response off.
		var request [1024]byte
		for {
			if _, err := conn.Read(request[:]); err != nil {
				return
			}
		}
	}()
}

func fullAnswer(limit int) []byte {
	body := fmt.Sprintf(`{"type":"/docs#unavailable","title":"Unavailable","status":503,"code":"unavailable",`+
		`"detail":"%d connections are open; there may be no more","hint":"try again later, or raise server.max_connections"}`+
		"\n", limit)
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: %s\r\nContent-Length: %d\r\nRetry-After: "+
		"1\r\nConnection: close\r\n\r\n%s",
		ProblemType, len(body), body)
}

type limitedConn struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

// CloseWrite lets net/http close its side first, so that the client reads the whole response.
func (c *limitedConn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}
