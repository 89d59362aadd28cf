package letters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// tap forwards connections to a RabbitMQ or Kafka, and reports what passes.
type tap struct {
	listener net.Listener
	to       string
	tell     func(string)
	signs    func() (byClient, byServer sign) // of a connection
	all      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Events of a tap. Nodes and workers are clients.
const (
	published, confirmed    = "a client publishes", "the server confirms"
	delivered, acknowledged = "the server delivers", "a client acknowledges"
)

// sign recognises events in data of a connection. A false match in a payload is harmless.
type sign func(data []byte) []string

// method is the beginning of a method like basic.publish in AMQP.
func method(number byte) []byte { return []byte{0, 60, 0, number} }

// signsOfRabbit recognise AMQP methods.
func signsOfRabbit() (byClient, byServer sign) {
	of := func(methods map[string][]byte) sign {
		return func(data []byte) (seen []string) {
			for what, begin := range methods {
				if bytes.Contains(data, begin) {
					seen = append(seen, what)
				}
			}
			return seen
		}
	}
	return of(map[string][]byte{published: method(40), acknowledged: method(80)}),
		of(map[string][]byte{delivered: method(60), confirmed: method(80)})
}

// Events of a tap on Kafka.
const (
	joined, fetched   = "a client joins its group", "the server answers a fetch with letters"
	produced          = "a client produces"
	answered          = "the server answers a client that produces"
	committed         = "a client commits offsets"
	keyProduce        = 0
	keyFetch          = 1
	keyCommit         = 8
	keyJoin           = 11
	inLetters         = `"original_topic"`
	largest, versions = 100 << 20, 20
)

// signsOfKafka recognise a request by its head (size, key, version), and an answer by the request before it.
func signsOfKafka() (byClient, byServer sign) {
	var last atomic.Int32
	last.Store(-1)
	byClient = func(data []byte) []string {
		if len(data) < 8 || binary.BigEndian.Uint32(data) > largest || binary.BigEndian.Uint16(data[6:]) > versions {
			return nil // not the beginning of a request
		}
		key := binary.BigEndian.Uint16(data[4:])
		last.Store(int32(key))
		switch key {
		case keyProduce:
			return []string{produced}
		case keyCommit:
			return []string{committed}
		case keyJoin:
			return []string{joined}
		}
		return nil
	}
	byServer = func(data []byte) []string {
		switch {
		case last.Load() == keyProduce:
			return []string{answered}
		case last.Load() == keyFetch && bytes.Contains(data, []byte(inLetters)):
			return []string{fetched}
		}
		return nil
	}
	return byClient, byServer
}

// newTap listens on a free address.
func newTap(to string, tell func(string), signs func() (byClient, byServer sign)) (*tap, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{listener: l, to: to, tell: tell, signs: signs, conns: map[net.Conn]bool{}}
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
		byClient, byServer := t.signs()
		t.all.Go(func() { t.pass(client, server, byClient) })
		t.all.Go(func() { t.pass(server, client, byServer) })
	}
}

// keep records both ends of a connection, and reports whether the tap is open.
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

func (t *tap) pass(from, to net.Conn, see sign) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for _, what := range see(buffer[:n]) {
			t.tell(what)
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
