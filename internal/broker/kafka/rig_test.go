package kafka_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/brokertest"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/kafkatest"
	"github.com/taskerhq/tasker/internal/testserver"
)

// patience bounds what a test waits for.
const patience = brokertest.Patience

// The calls of the suite, which fail the test where the driver returns an error.
var (
	receiver = brokertest.Receiver
	receive  = brokertest.Receive
	ack      = brokertest.Ack
	send     = brokertest.Send
	payloads = brokertest.Payloads
	headers  = brokertest.Headers
	header   = brokertest.Header
)

// open connects as the server does, and closes the connection with the test.
func open(t testing.TB, url string) driver.Driver {
	t.Helper()
	d, err := driver.Registry{"kafka": kafka.Open}.Open(t.Context(), "kafka", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// fails receives until that fails, and returns the error.
func fails(t testing.TB, r driver.Receiver) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, err := r.Receive(ctx, 100); err != nil {
			if ctx.Err() != nil {
				t.Fatal("the receiver does not notice")
			}
			return err
		}
	}
}

// produce writes records as an application does.
func produce(t testing.TB, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// depth waits until a queue has a depth.
func depth(t testing.TB, d driver.Driver, topic string, want int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, n, err := d.Stat(t.Context(), topic)
		if err == nil && n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the depth is %d, want %d; %v", n, want, err)
		}
	}
}

// numbered returns messages with the payloads "1" to "n", of some keys.
func numbered(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i].Payload = fmt.Append(nil, i+1)
		out[i].Key = fmt.Append(nil, "key", i%7)
	}
	return out
}

// network is a broker behind a proxy that a test can break.
type network struct {
	*kafkatest.Server
	url string // through the proxy

	mu    sync.Mutex
	conns map[net.Conn]bool
	shut  bool // new connections are cut at once
}

// behindProxy starts a broker with two listeners: its own URL is direct, clients of the other one go through a proxy.
func behindProxy(t testing.TB) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	n := &network{url: "kafka://" + l.Addr().String(), conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { n.pass(c, fmt.Sprintf("127.0.0.1:%d", port)) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		n.Cut()
		running.Wait()
	})
	n.Server = kafkatest.Start(t, nil, kafkatest.Listener{Name: "PROXIED", Protocol: "PLAINTEXT", Port: port,
		Advertised: l.Addr().String()})
	return n
}

// pass copies a connection until one side, or Cut, ends it.
func (n *network) pass(c net.Conn, to string) {
	defer c.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	n.mu.Lock()
	shut := n.shut
	n.conns[c], n.conns[server] = true, true
	n.mu.Unlock()
	if !shut {
		go func() {
			_, _ = io.Copy(server, c)
			_ = server.Close()
		}()
		_, _ = io.Copy(c, server)
	}
	n.mu.Lock()
	delete(n.conns, c)
	delete(n.conns, server)
	n.mu.Unlock()
}

// Cut ends all connections.
func (n *network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close()
	}
}

// Shut ends all connections and accepts none, until it is called with false.
func (n *network) Shut(shut bool) {
	n.mu.Lock()
	n.shut = shut
	n.mu.Unlock()
	n.Cut()
}
