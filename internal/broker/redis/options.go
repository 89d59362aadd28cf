package redis

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/redisurl"
)

type options struct {
	timeout time.Duration // of one call; 5s
	// gone is the silence after which another receiver takes over; 30s, 1s to 1h.
	gone time.Duration
	// remember is how long the mark of a sent message stays after the last try; 1h to 168h, 1h.
	remember time.Duration

	head string // of a list: LEFT or RIGHT

	group    string // of a stream; tasker
	payload  string // field with the payload; payload
	remove   bool
	mkstream bool
}

// recalled is the shortest time for marks: an unknown send is tried again minutes later.
const recalled = time.Hour

func parse(text string, list bool) (redisurl.Target, options, error) {
	own := []string{"gone", "remember", "group", "payload", "acknowledged", "missing"}
	if list {
		own = []string{"gone", "remember", "head"}
	}
	u, err := redisurl.Parse(text, own...)
	if err != nil {
		return u, options{}, err
	}
	p := parameters{values: u.Own}
	o := options{
		timeout:  cmp.Or(u.Timeout, 5*time.Second),
		gone:     p.duration("gone", 30*time.Second, time.Second, time.Hour),
		remember: max(p.duration("remember", recalled, time.Minute, 7*24*time.Hour), recalled),
		head:     strings.ToUpper(p.choice("head", "left", "right")),
		group:    p.name("group", "tasker"),
		payload:  p.name("payload", "payload"),
		remove:   p.choice("acknowledged", "kept", "removed") == "removed",
		mkstream: p.choice("missing", "refused", "created") == "created",
	}
	return u, o, p.err
}

type parameters struct {
	values url.Values
	err    error
}

func (p *parameters) fail(name, must string) {
	if p.err == nil {
		p.err = fmt.Errorf("the parameter %s in the URL of Redis must be %s", name, must)
	}
}

func (p *parameters) duration(name string, otherwise, low, high time.Duration) time.Duration {
	if !p.values.Has(name) {
		return otherwise
	}
	d, err := time.ParseDuration(p.values.Get(name))
	if err != nil || d < low || d > high {
		p.fail(name, fmt.Sprintf("a duration from %v to %v", low, high))
	}
	return d
}

func (p *parameters) choice(name string, words ...string) string {
	word := cmp.Or(p.values.Get(name), words[0])
	if p.values.Has(name) && !slices.Contains(words, p.values.Get(name)) {
		p.fail(name, strings.Join(words, " or "))
	}
	return word
}

func (p *parameters) name(name, otherwise string) string {
	if !p.values.Has(name) {
		return otherwise
	}
	value := p.values.Get(name)
	if value == "" || len(value) > 255 {
		p.fail(name, "a name of 1 to 255 bytes")
	}
	return value
}
