package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// schedule lets actors run one at a time. An actor pauses before each statement and commit; a seed selects which one
// continues. The database, not a time-out, reports that an actor waits for a lock.
type schedule struct {
	waiting func() (int, error) // connections of the schema that wait for a lock
	pauses  chan pause
	actors  []*actor
	trace   []string
	overlap int // pauses within a transaction after which another actor continued
}

type actor struct {
	name    string
	resume  chan struct{}
	phase   phase
	at      string
	blocked bool
}

type phase int

const (
	running phase = iota
	paused
	ended
)

type pause struct {
	actor *actor
	at    string
	ended bool
}

func newSchedule(waiting func() (int, error)) *schedule {
	return &schedule{waiting: waiting, pauses: make(chan pause)}
}

// add starts an actor, which pauses before it begins. Call it before run.
func (s *schedule) add(name string, act func(a *actor)) {
	a := &actor{name: name, resume: make(chan struct{})}
	s.actors = append(s.actors, a)
	go func() {
		s.pause(a, "begins")
		act(a)
		s.pauses <- pause{actor: a, ended: true}
	}()
}

func (s *schedule) pause(a *actor, at string) {
	s.pauses <- pause{actor: a, at: at}
	<-a.resume
}

// run lets the actors take turns until all have ended. After an error they continue freely, so that none keeps a
// connection.
func (s *schedule) run(r *rand.Rand) error {
	err := s.takeTurns(r)
	if err != nil {
		go s.abandon()
	}
	return err
}

func (s *schedule) abandon() {
	for _, a := range s.in(paused) {
		a.resume <- struct{}{}
	}
	left := len(s.actors) - len(s.in(ended))
	for left > 0 {
		p := <-s.pauses
		if p.ended {
			left--
		} else {
			p.actor.resume <- struct{}{}
		}
	}
}

func (s *schedule) takeTurns(r *rand.Rand) error {
	order := newOrder(r, len(s.actors))
	var last *actor
	for {
		if err := s.settle(); err != nil {
			return err
		}
		able := s.in(paused)
		if len(able) == 0 {
			if len(s.in(running)) == 0 {
				return nil
			}
			s.note("all of them wait for locks")
			if !s.heard(patient) {
				return fmt.Errorf("all wait for locks, and none of them gets one:\n%s", s)
			}
			continue
		}
		a := order.next(s.actors, able)
		if last != nil && a != last && last.phase == paused {
			s.overlap++
		}
		last = a
		s.note("%s %s", a.name, a.at)
		a.phase = running
		a.resume <- struct{}{}
	}
}

// order selects the next actor. A third of the seeds lets any actor continue. The others hold one actor up once,
// after a few statements or before its first commit, until the others are stuck: most races need no more.
type order struct {
	r           *rand.Rand
	held, first int // the held actor and the turns before the hold; -1: none, and its first commit
	turn        int
	stopped     bool
	attempts    int // of others to submit since then
}

const (
	longestHold = 60
	// mostAttempts bounds the others' attempts to submit meanwhile: each waits longer for a key that the held actor
	// has.
	mostAttempts = 4
)

func newOrder(r *rand.Rand, actors int) *order {
	o := &order{r: r, held: -1}
	if r.IntN(3) > 0 {
		o.held = r.IntN(actors)
		if o.first = -1; r.IntN(3) > 0 {
			o.first = 2 + r.IntN(1+r.IntN(8))
		}
	}
	return o
}

func (o *order) next(all, able []*actor) *actor {
	turn := o.turn
	o.turn++
	switch some := able[o.r.IntN(len(able))]; {
	case o.held < 0 || len(able) < len(all) || turn >= longestHold || o.attempts >= mostAttempts:
		return some
	case o.first < 0 && !o.stopped && all[o.held].at != "commits", turn < o.first:
		return all[o.held]
	default:
		o.stopped = true
		other := all[(o.held+1)%len(all)]
		if other.at == "ExpectKnown" {
			o.attempts++
		}
		return other
	}
}

// settle returns when each actor is paused, has ended, or waits for a lock.
func (s *schedule) settle() error {
	const (
		quick = time.Millisecond
		// A wait for idempotency keys ends after 5 ms without the lock, so a lasting wait is seen that often.
		looks = 4
		every = 3 * time.Millisecond
	)
	deadline := time.Now().Add(patient)
	wait, seen := quick, 0
	for len(s.in(running)) > 0 {
		if s.heard(wait) {
			seen = 0
			continue
		}
		n, err := s.waiting()
		switch {
		case err != nil:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("an actor neither ends nor waits for a lock:\n%s", s)
		case n < len(s.in(running)):
			seen = 0
		default:
			seen++
		}
		if seen == looks || seen > 0 && s.allBlocked() {
			s.block()
			return nil
		}
		wait = every
	}
	return nil
}

func (s *schedule) allBlocked() bool {
	return !slices.ContainsFunc(s.in(running), func(a *actor) bool { return !a.blocked })
}

func (s *schedule) block() {
	for _, a := range s.in(running) {
		if !a.blocked {
			a.blocked = true
			s.note("%s waits for a lock", a.name)
		}
	}
}

func (s *schedule) heard(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case p := <-s.pauses:
		if p.actor.blocked {
			s.note("%s got the lock", p.actor.name)
		}
		p.actor.phase, p.actor.at, p.actor.blocked = paused, p.at, false
		if p.ended {
			p.actor.phase = ended
			s.note("%s is done", p.actor.name)
		}
		return true
	case <-t.C:
		return false
	}
}

func (s *schedule) in(p phase) []*actor {
	var list []*actor
	for _, a := range s.actors {
		if a.phase == p {
			list = append(list, a)
		}
	}
	return list
}

func (s *schedule) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

func (s *schedule) String() string { return "  " + strings.Join(s.trace, "\n  ") + "\n" }

// observer reads the database on its own connection.
type observer struct {
	t    *testing.T
	mu   sync.Mutex
	conn *pgx.Conn
}

func (o *observer) waiting() (n int, err error) {
	const query = `SELECT count(DISTINCT w.pid) FROM pg_locks w JOIN pg_locks l ON l.pid = w.pid AND l.granted
 JOIN pg_class c ON c.oid = l.relation AND c.relnamespace = current_schema()::regnamespace WHERE NOT w.granted`
	o.mu.Lock()
	defer o.mu.Unlock()
	err = o.conn.QueryRow(o.t.Context(), query).Scan(&n)
	return n, err
}
