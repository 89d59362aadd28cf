package redislist

import (
	"crypto/rand"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/redis/rueidis"
)

const maxName = 255

// CheckName returns an error for an invalid name of a queue. A name has 1 to 255 bytes of UTF-8 without control
// characters. Braces are a hash tag of Redis Cluster, so a name has none, or exactly one tag.
func CheckName(queue string) error {
	switch {
	case queue == "" || len(queue) > maxName:
		return fmt.Errorf("the name of a queue must have 1 to %d bytes, not %d", maxName, len(queue))
	case !utf8.ValidString(queue) || strings.ContainsFunc(queue, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the name of a queue must be UTF-8 without control characters, not %q", queue)
	case strings.ContainsAny(queue, "{}") && !tagged(queue):
		return fmt.Errorf("the name of a queue may have braces around a part of it only, not %q", queue)
	}
	return nil
}

// CheckKeys checks names of queues whose keys one script uses on a server: CheckName of each and, in a Redis Cluster, a
// common hash tag. The client panics for keys on different nodes.
func CheckKeys(client rueidis.Client, queues ...string) error {
	for _, queue := range queues {
		if err := CheckName(queue); err != nil {
			return err
		}
		if client.Mode() != rueidis.ClientModeCluster {
			continue
		}
		switch {
		case !tagged(queue):
			return fmt.Errorf("in a Redis Cluster the name of a queue needs a hash tag: {%[1]s}, not %[1]s", queue)
		case tag(queue) != tag(queues[0]):
			return fmt.Errorf("in a Redis Cluster the queues %s and %s need the same hash tag", queues[0], queue)
		}
	}
	return nil
}

func tag(queue string) string {
	_, after, _ := strings.Cut(queue, "{")
	name, _, _ := strings.Cut(after, "}")
	return name
}

// tagged reports whether a key has a hash tag: Redis Cluster then places it by the part in braces.
func tagged(key string) bool {
	_, after, ok := strings.Cut(key, "{")
	end := strings.IndexByte(after, '}')
	return ok && end > 0
}

// Tagged returns the name with a hash tag: keys that contain it are in the slot of the queue.
func Tagged(queue string) string {
	if tagged(queue) {
		return queue
	}
	return "{" + queue + "}"
}

func base(queue string) string { return "tasker:" + Tagged(queue) }

// Processing returns the key of the list of a consumer.
func Processing(queue, id string) string { return ProcessingPrefix(queue) + id }

// ProcessingPrefix returns the common prefix of the keys of consumers' lists.
func ProcessingPrefix(queue string) string { return base(queue) + ":processing:" }

// Consumers returns the key of the consumers of a queue.
func Consumers(queue string) string { return base(queue) + ":consumers" }

// Gone returns the key of the consumers whose entries were moved back.
func Gone(queue string) string { return base(queue) + ":gone" }

// NewID returns an ID for a consumer.
func NewID() string { return strings.ToLower(rand.Text()) }
