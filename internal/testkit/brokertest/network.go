package brokertest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Network is between a driver and its broker, and can be disturbed.
type Network struct {
	// Address is for the driver.
	Address string

	mu      sync.Mutex
	changed sync.Cond
	to      string
	conns   map[net.Conn]bool
	state   state
	shut    bool          // new connections are cut immediately
	after   int           // bytes to the broker until the disturbance begins
	began   chan struct{} // closed when it does
}

type state int

const (
	passing state = iota
	holding       // the broker's answers wait
	lost          // nothing arrives, on either side, and no connection ends
)

// NewNetwork starts a Network before a broker, until the test ends.
func NewNetwork(t testing.TB, to string) *Network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{Address: l.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	n.changed.L = &n.mu
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { n.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		n.Shut(true)
		running.Wait()
	})
	return n
}

// URL leads a broker's URL through the network.
func (n *Network) URL(t testing.TB, broker string) string {
	t.Helper()
	u, err := url.Parse(broker)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = n.Address
	return u.String()
}

// Hold holds back the broker's answers after so many further bytes to it; then it closes the channel.
func (n *Network) Hold(after int) <-chan struct{} { return n.trouble(holding, after) }

// Lose stops all bytes after so many further bytes to the broker, like a pulled cable.
func (n *Network) Lose(after int) <-chan struct{} { return n.trouble(lost, after) }

func (n *Network) trouble(s state, after int) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state, n.after, n.began = s, after, make(chan struct{})
	return n.began
}

// Pass ends the trouble. Answers that were held arrive.
func (n *Network) Pass() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = passing
	n.changed.Broadcast()
}

// Cut ends all connections.
func (n *Network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close()
	}
	n.changed.Broadcast()
}

// Shut ends all connections and accepts none, until it is called with false.
func (n *Network) Shut(shut bool) {
	n.mu.Lock()
	n.shut = shut
	n.mu.Unlock()
	n.Cut()
}

// carry carries bytes both ways until one side, or Cut, ends the connection.
func (n *Network) carry(client net.Conn) {
	defer client.Close() //nolint:errcheck // it is cut
	broker, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	defer broker.Close() //nolint:errcheck // as above
	n.mu.Lock()
	shut := n.shut
	n.conns[client], n.conns[broker] = true, true
	n.mu.Unlock()
	if !shut {
		var up sync.WaitGroup
		up.Go(func() {
			n.copy(broker, client, true)
			n.end(client, broker)
		})
		n.copy(client, broker, false)
		n.end(client, broker)
		up.Wait()
	}
	n.end(client, broker)
}

func (n *Network) end(conns ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(n.conns, c)
	}
	n.changed.Broadcast()
}

func (n *Network) copy(to, from net.Conn, toBroker bool) {
	buffer := make([]byte, 16<<10)
	for {
		k, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !n.gate(from, k, toBroker) {
			continue
		}
		if _, err := to.Write(buffer[:k]); err != nil {
			return
		}
	}
}

// gate blocks while bytes are held, and reports whether they arrive.
func (n *Network) gate(from net.Conn, bytes int, toBroker bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if toBroker && n.state != passing && n.after >= 0 {
		if n.after -= bytes; n.after < 0 {
			close(n.began)
		}
	}
	for n.state == holding && n.after < 0 && !toBroker && n.conns[from] {
		n.changed.Wait()
	}
	return n.state != lost || n.after >= 0
}
