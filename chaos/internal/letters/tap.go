package letters

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
)

// tap passes connections on to a RabbitMQ, and tells a function of each message that comes by.
type tap struct {
	listener net.Listener
	to       string
	tell     func(string)
	all      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// What a tap tells of. Nodes and workers are clients.
const (
	published, confirmed    = "a client publishes", "the server confirms"
	delivered, acknowledged = "the server delivers", "a client acknowledges"
)

// method is how basic.publish and its kin begin in AMQP.
func method(number byte) []byte { return []byte{0, 60, 0, number} }

// The methods by which a tap knows what a client or a server sends. What looks like one inside of a payload does no
// harm.
var (
	byClient = map[string][]byte{published: method(40), acknowledged: method(80)}
	byServer = map[string][]byte{delivered: method(60), confirmed: method(80)}
)

// newTap listens on an address of its own.
func newTap(to string, tell func(string)) (*tap, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{listener: l, to: to, tell: tell, conns: map[net.Conn]bool{}}
	t.all.Go(t.accept)
	return t, nil
}

func (t *tap) accept() {
	for {
		client, err := t.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", t.to)
		if err != nil || !t.keep(client, server) {
			_ = client.Close() // the server is down
			continue
		}
		t.all.Go(func() { t.pass(client, server, byClient) })
		t.all.Go(func() { t.pass(server, client, byServer) })
	}
}

// keep notes the two ends of a connection, and reports whether the tap is open.
func (t *tap) keep(client, server net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		_ = server.Close() // nothing was sent
		return false
	}
	t.conns[client], t.conns[server] = true, true
	return true
}

// pass copies one way until either end is closed, and then closes both.
func (t *tap) pass(from, to net.Conn, methods map[string][]byte) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for what, begin := range methods {
			if bytes.Contains(buffer[:n], begin) {
				t.tell(what)
			}
		}
		if _, failed := to.Write(buffer[:n]); errors.Join(err, failed) != nil {
			break
		}
	}
	for _, c := range []net.Conn{from, to} {
		_ = c.Close() // the other way may have closed it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, from)
	delete(t.conns, to)
}

// Close ends all connections.
func (t *tap) Close() error {
	err := t.listener.Close()
	t.mu.Lock()
	all := []io.Closer{}
	for c := range t.conns {
		all = append(all, c)
	}
	t.conns = nil
	t.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // the other way may have closed it
	}
	t.all.Wait()
	return err
}
