package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialer opens the connections of a Store, and detects a hung server, which leaves connections open without an answer:
// a stopped process, a frozen machine or a network that drops packets. Without it each statement would wait for its
// time-out.
//
// After a silence, the dialer probes the server on a separate connection. If the probe fails, it closes all connections
// to that server, and refuses new ones until the server answers again, so that pgx tries another host of the DSN
// immediately. A statement that waits for a lock is safe: its server answers the probe.
type dialer struct {
	net.Dialer

	mu    sync.Mutex
	peers map[string]*peer // by address
}

const (
	watchInterval = 500 * time.Millisecond
	// maxSilent is the number of checks without a byte from a server after which it is probed.
	maxSilent    = 3
	probeTimeout = 3 * time.Second
	// maxAvoided is the number of checks for which a server with a failed probe gets no connections, unless a later
	// probe succeeds.
	maxAvoided = 60
	// userTimeout bounds the kernel's retransmissions of unacknowledged data, to end connections through a network that
	// drops packets.
	userTimeout = 10 * time.Second
)

type peer struct {
	network, address string
	conns            map[*watchedConn]struct{} // open ones; guarded by the dialer's mutex
	heard            atomic.Int64

	// used by watch only last is the count of heard at the previous check, and silent the number of checks since it
	// changed.
	last   int64
	silent int
	// remaining checks without connections; guarded by the dialer's mutex
	avoided int
}

// newDialer returns a dialer with TCP keep-alives: an idle connection to a dead server is closed after about 11 s.
func newDialer() *dialer {
	d := &dialer{peers: map[string]*peer{}}
	d.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}
	d.Control = limitUnacknowledged
	return d
}

// dial is a pgconn.DialFunc. It fails immediately for an avoided server, so that pgx tries the next host.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.avoids(address) {
		return nil, fmt.Errorf("connect to %s: it does not answer", address)
	}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return d.register(network, address, c), nil
}

func (d *dialer) avoids(address string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.peers[address]
	return p != nil && p.avoided > 0
}

func (d *dialer) register(network, address string, c net.Conn) *watchedConn {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.peers[address]
	if p == nil {
		p = &peer{network: network, address: address, conns: map[*watchedConn]struct{}{}}
		d.peers[address] = p
	}
	w := &watchedConn{Conn: c, dialer: d, peer: p}
	p.conns[w] = struct{}{}
	return w
}

// watchedConn records when the server owes an answer, and when data arrives.
type watchedConn struct {
	net.Conn
	dialer *dialer
	peer   *peer
	asked  atomic.Bool
}

// Write implements net.Conn. asked stays set until any byte arrives on this connection.
func (w *watchedConn) Write(b []byte) (int, error) {
	w.asked.Store(true)
	return w.Conn.Write(b)
}

// Read implements net.Conn. Any byte is a sign of life.
func (w *watchedConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 {
		w.asked.Store(false)
		w.peer.heard.Add(1)
	}
	return n, err
}

func (w *watchedConn) Close() error {
	w.dialer.mu.Lock()
	delete(w.peer.conns, w)
	w.dialer.mu.Unlock()
	return w.Conn.Close()
}

// watch monitors all servers until ctx ends. It reports a hung server to dropped. During a probe, up to probeTimeout,
// it checks no other server.
func (d *dialer) watch(ctx context.Context, dropped func()) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, p := range d.suspects() {
			if d.probe(ctx, p) == nil {
				d.trust(p)
			} else if ctx.Err() == nil && d.drop(p) {
				dropped()
			}
		}
	}
}

// suspects returns the servers to probe, and drops those without connections. A suspect owes an answer on some
// connection and has been silent on all for maxSilent checks. Only this goroutine changes last and silent.
func (d *dialer) suspects() []*peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*peer
	for address, p := range d.peers {
		if p.avoided > 0 {
			// An avoided server is probed at every check, so it gets connections soon after it answers.
			p.avoided--
			list = append(list, p)
			continue
		}
		if len(p.conns) == 0 {
			// Its next connection registers it again.
			delete(d.peers, address)
			continue
		}
		heard := p.heard.Load()
		if heard != p.last || !p.owes() {
			p.last, p.silent = heard, 0
			continue
		}
		if p.silent++; p.silent >= maxSilent {
			p.silent = 0
			list = append(list, p)
		}
	}
	return list
}

// owes reports whether an answer is due. The caller holds the dialer's mutex.
func (p *peer) owes() bool {
	for w := range p.conns {
		if w.asked.Load() {
			return true
		}
	}
	return false
}

func (d *dialer) trust(p *peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.avoided = 0
}

func (d *dialer) drop(p *peer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(p.conns) == 0 {
		return false
	}
	p.avoided = maxAvoided
	for w := range p.conns {
		_ = w.Conn.Close() // waiting callers get an error
	}
	clear(p.conns)
	return true
}

// sslRequest asks a PostgreSQL server for TLS. The server, or a pooler, answers with one byte before any
// authentication.
const sslRequest = 80877103

// probe asks for TLS on a new connection and reads one byte: that needs no authentication and no free slot of
// max_connections. A refused connection fails the probe too: the server has closed its other connections.
func (d *dialer) probe(ctx context.Context, p *peer) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := d.DialContext(ctx, p.network, p.address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	// The message is its length, which includes the length field, and the code.
	question := binary.BigEndian.AppendUint32(nil, 8)
	if _, err = c.Write(binary.BigEndian.AppendUint32(question, sslRequest)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}
