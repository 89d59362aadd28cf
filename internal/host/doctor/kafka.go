package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
)

const (
	kafkaDriver = "kafka"
	// safeCopies is the number of a topic's copies that survive the loss of a broker during maintenance of another.
	safeCopies = 3
	// shortRetention covers a weekend without a server.
	shortRetention = 3 * 24 * time.Hour
	// originLetters bounds the undecided letters of a source whose origins are queried.
	originLetters = 10_000
)

// kafka examines the topics of sources and of their letters' destinations; none without such sources.
func (p *patient) kafka(ctx context.Context) ([]Check, error) {
	sources, checks, err := p.sources(ctx, "kafka_sources", kafkaDriver, kafkaDriver)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		origins, unread, err := p.origins(ctx, s)
		if err != nil {
			return nil, err
		}
		checks = append(checks, unread...)
		checks = append(checks, p.topic(ctx, s, origins)...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return checks, nil
}

// origins returns the topics of a source's undecided letters, to which they return unless the source has targets.
func (p *patient) origins(ctx context.Context, s source) (origins []string, checks []Check, err error) {
	checks, err = p.examine(ctx, []exam{{"kafka_origins", func(ctx context.Context, tx *sql.Tx) (_ []Check, err error) {
		origins, err = list(ctx, tx, scanText, `SELECT DISTINCT origin FROM (SELECT origin FROM tasker_letters
  WHERE namespace = $1 AND source = $2 AND state IN ('open', 'scheduled') AND origin <> '' LIMIT $3) o ORDER BY origin`,
			s.namespace, s.name, originLetters)
		return nil, err
	}}})
	return origins, checks, err
}

func (p *patient) topic(ctx context.Context, s source, origins []string) []Check {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	sends := slices.Concat(s.sendsTo(), origins)
	slices.Sort(sends)
	f, err := kafka.Inspect(ctx, s.url, s.queue, slices.Compact(sends))
	if err != nil {
		return []Check{{"kafka", Fail, fmt.Sprintf("the Kafka of %s cannot be used: %s", s, reason(driver.Hide(err, s.url))),
			"Check that it runs, its address, and how the source logs in; then run tasker source test " + s.name + "."}}
	}
	if !f.Queue.Exists {
		return []Check{{"kafka_topic", Fail, s.topic() + " does not exist",
			"Make the topic, or correct the queue of the source: Tasker makes no topics."}}
	}
	checks := append(s.grants(f), s.destinations(f)...)
	checks = append(checks, s.copies(f)...)
	if len(f.Queue.Missing)+len(f.GroupMissing) > 0 {
		return checks
	}
	return append(checks, s.retention(f, p.Now())...)
}

func (s source) topic() string { return fmt.Sprintf("the topic %s of %s", s.queue, s) }

func (s source) grants(f *kafka.Finding) []Check {
	const name = "kafka_permissions"
	var missing []string
	add := func(kind, of string, operations []string) {
		for _, operation := range operations {
			missing = append(missing, fmt.Sprintf("%s of the %s %s", operation, kind, of))
		}
	}
	add("topic", f.Queue.Name, f.Queue.Missing)
	add("group", f.Group, f.GroupMissing)
	for _, to := range f.Sends {
		add("topic", to.Name, to.Missing)
	}
	if len(missing) == 0 {
		return []Check{{Name: name, Status: OK, Seen: fmt.Sprintf("the user of %s has all that it needs", s)}}
	}
	const most = 8
	text := strings.Join(missing[:min(len(missing), most)], ", ")
	if len(missing) > most {
		text += fmt.Sprintf(" and %d more", len(missing)-most)
	}
	return []Check{{name, Fail, fmt.Sprintf("the user of %s lacks %s", s, text),
		"Grant these with kafka-acls.sh --add; docs/guides/kafka.md lists all that a user needs."}}
}

func (s source) destinations(f *kafka.Finding) []Check {
	const name = "kafka_destinations"
	var missing []string
	for _, to := range f.Sends {
		if !to.Exists {
			missing = append(missing, to.Name)
		}
	}
	if len(missing) == 0 {
		return []Check{{Name: name, Status: OK, Seen: fmt.Sprintf("the %d topics to which letters of %s go exist",
			len(f.Sends), s)}}
	}
	return []Check{{name, Warn, fmt.Sprintf("letters of %s go to topics that do not exist: %s", s,
		strings.Join(missing[:min(len(missing), 8)], ", ")),
		"Make the topics, or name another destination in the redrive: a send to them fails, and the letters stay open."}}
}

func (s source) copies(f *kafka.Finding) []Check {
	const name = "kafka_replication"
	switch has, want := f.Queue.Replicas, min(safeCopies, f.Brokers); {
	case has < 2:
		return []Check{{name, Warn, fmt.Sprintf("%s has one copy in a cluster of %d", s.topic(), f.Brokers),
			"Messages that are not captured yet are lost with its disk. Raise its replication factor to 3."}}
	case has < want:
		return []Check{{name, Warn, fmt.Sprintf("%s has %d copies on %d brokers", s.topic(), has, f.Brokers),
			"Raise its replication factor to 3, so that it survives a failure during maintenance."}}
	case f.ConfigError == nil && f.InSync == 1:
		return []Check{{name, Warn, fmt.Sprintf("%s has %d copies, and min.insync.replicas=1", s.topic(), has),
			"A message may be confirmed by one broker alone, and be lost with it. Set min.insync.replicas=2."}}
	default:
		return []Check{{Name: name, Status: OK, Seen: fmt.Sprintf("%s has %d copies", s.topic(), has)}}
	}
}

// retention compares Kafka's retention with the age of uncaptured messages.
func (s source) retention(f *kafka.Finding, now time.Time) []Check {
	const name = "kafka_retention"
	if f.ConfigError != nil {
		return s.blind(name, "the retention of the topic "+s.queue, f.ConfigError)
	}
	var checks []Check
	if strings.Contains(f.Cleanup, "compact") {
		checks = append(checks, Check{name, Warn, fmt.Sprintf("%s is compacted (cleanup.policy=%s)", s.topic(),
			f.Cleanup), "Kafka deletes all but the last failure of a key. Set cleanup.policy=delete."})
	}
	age := now.Sub(f.OldestUnread)
	late := fmt.Sprintf("messages of %s wait for %s, and the topic %s keeps them for %s", s, long(age), s.queue,
		long(f.Retention))
	switch keeps := f.Retention; {
	case keeps < 0 || !strings.Contains(f.Cleanup, "delete"):
	case !f.OldestUnread.IsZero() && age > keeps:
		return append(checks, Check{name, Fail, late, "Kafka deletes them at any time. Raise retention.ms now, and see why " +
			"the source does not read: tasker source show " + s.name + "."})
	case !f.OldestUnread.IsZero() && age > keeps/4*3:
		return append(checks, Check{name, Warn, late, fmt.Sprintf("Kafka deletes them in %s. Raise retention.ms, and see "+
			"why the source does not read: tasker source show %s.", long(keeps-age), s.name)})
	case keeps < shortRetention:
		return append(checks, Check{name, Warn, fmt.Sprintf("%s keeps messages for %s", s.topic(), long(keeps)),
			"A source that does not read for a weekend loses them. Set retention.ms to a week or more."})
	}
	if len(checks) > 0 {
		return checks
	}
	return []Check{{Name: name, Status: OK, Seen: s.topic() + " keeps messages long enough"}}
}
