package cluster

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Moment is a point in the life of a request.
type Moment struct {
	Path     string // suffix or a part of the path
	Answered bool   // after the answer; else before the request arrives
}

// moments are when the end of a node hurts most.
var moments = []Moment{
	{"/v1/tasks/batch", false}, {"/v1/tasks/batch", true}, {"/poll", true}, {"/poll", false},
	{"/result", false}, {"/result", true}, {"/start", false}, {"/heartbeat", false}, {"/cancel", false},
	{"/workflow_steps/", false},
}

// Balancer is an http.RoundTripper that sends each request to one of several nodes, like a load balancer that sees only
// which are up. It also springs traps.
type Balancer struct {
	nodes []*Node
	next  http.RoundTripper

	mu  sync.Mutex
	rng *rand.Rand
	set *trap
}

type trap struct {
	Moment
	delay  time.Duration
	spring func(node int)
}

// URL is an address that the Balancer replaces by that of a node.
const URL = "http://localhost:1"

// NewBalancer sends requests to URL over next, each to a chosen node. Requests to a node pass unchanged.
func NewBalancer(nodes []*Node, next http.RoundTripper, rng *rand.Rand) *Balancer {
	return &Balancer{nodes: nodes, next: next, rng: rng}
}

// RoundTrip implements http.RoundTripper.
func (b *Balancer) RoundTrip(req *http.Request) (*http.Response, error) {
	node := -1
	if req.URL.Host == strings.TrimPrefix(URL, "http://") {
		node = b.pick()
		req = req.Clone(req.Context())
		req.URL.Host, req.Host = b.nodes[node].Address, ""
	} else {
		for i, n := range b.nodes {
			if n.Address == req.URL.Host {
				node = i
			}
		}
	}
	b.tell(node, req, false)
	resp, err := b.next.RoundTrip(req)
	if err == nil && resp.StatusCode < 300 {
		b.tell(node, req, true)
	}
	return resp, err
}

// pick chooses a node, sometimes one that is down, because a real balancer is late to notice.
func (b *Balancer) pick() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.rng.IntN(len(b.nodes))
	if !b.nodes[i].Up() {
		i = b.rng.IntN(len(b.nodes))
	}
	return i
}

// Trap calls spring once, with the node, at the next moment of a random kind or a little later; Disarm removes the
// trap.
func (b *Balancer) Trap(rng *rand.Rand, spring func(node int)) Moment {
	t := &trap{Moment: moments[rng.IntN(len(moments))], spring: spring}
	if rng.IntN(2) == 0 {
		t.delay = time.Duration(rng.Int64N(int64(4 * time.Millisecond)))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = t
	return t.Moment
}

// Disarm takes the trap away, and reports whether it had not sprung.
func (b *Balancer) Disarm() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.set != nil
	b.set = nil
	return was
}

// tell springs the trap in the goroutine of its moment, so that nothing else happens in between.
func (b *Balancer) tell(node int, req *http.Request, answered bool) {
	if node < 0 {
		return
	}
	b.mu.Lock()
	t := b.set
	if t == nil || t.Answered != answered || req.Method == http.MethodGet || !t.meets(req.URL.Path) {
		b.mu.Unlock()
		return
	}
	b.set = nil
	b.mu.Unlock()
	if t.delay == 0 {
		t.spring(node)
		return
	}
	time.AfterFunc(t.delay, func() { t.spring(node) })
}

func (m Moment) meets(path string) bool {
	if m.Path == "/workflow_steps/" {
		return strings.Contains(path, m.Path)
	}
	return strings.HasSuffix(path, m.Path)
}

func (m Moment) String() string {
	if m.Answered {
		return m.Path + " answered"
	}
	return m.Path + " sent"
}
