package httpapi

import (
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
)

const streamRetry = 5 * time.Second

// openStreams counts the open streams of events, in total and per API key. The zero value is ready; it is safe for
// concurrent use.
type openStreams struct {
	mu    sync.Mutex
	all   int
	byKey map[string]int
}

// enter counts a new stream, or refuses it: one key must not use up all places. A server without keys cannot tell
// clients apart, so it has the total limit only. leave ends the count.
func (o *openStreams) enter(key string, limits Limits) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// The limit of the key comes first: its holder can react to it.
	if key != "" && o.byKey[key] >= limits.StreamsPerKey {
		return nil, tooManyStreams(fmt.Sprintf("the key %s has %d streams of events open", key, limits.StreamsPerKey),
			"server.max_streams_per_key")
	}
	if o.all >= limits.Streams {
		return nil, tooManyStreams(fmt.Sprintf("%d streams of events are open", limits.Streams), "server.max_streams")
	}
	o.all++
	if key == "" {
		return func() { o.exit(key) }, nil
	}
	if o.byKey == nil {
		o.byKey = map[string]int{}
	}
	o.byKey[key]++
	return func() { o.exit(key) }, nil
}

// exit removes the entry of a key without streams, so that past keys cost no memory.
func (o *openStreams) exit(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if key == "" {
		return
	}
	if o.byKey[key]--; o.byKey[key] == 0 {
		delete(o.byKey, key)
	}
}

// tooManyStreams names the setting that an operator may raise.
func tooManyStreams(what, setting string) error {
	return &tasker.Error{Code: tasker.CodeExhausted, Message: what + "; there may be no more",
		Hint: "try again later, or raise " + setting, RetryAfter: streamRetry}
}
