package kafkatest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Variable names the shared broker, by a URL like kafka://host:port, without a password. Clients must be able to create
// and delete topics.
const Variable = "TASKER_TEST_KAFKA"

// Shared returns the URL of the shared broker. Tests create topics with NewTopic, or with names that begin with
// NewPrefix. A test that stops the broker uses Start.
func Shared(t testing.TB) string {
	t.Helper()
	if named := os.Getenv(Variable); named != "" {
		return named
	}
	s, err := shared()
	testserver.OrSkip(t, err)
	return s.URL()
}

// shared is the broker of this process, started at first use. It is stopped when the process is gone, so no test closes
// it.
var shared = sync.OnceValues(func() (*Server, error) { return Launch(nil) })

// NewPrefix returns a unique prefix for names of topics and groups, which are deleted when t ends.
func NewPrefix(t testing.TB, brokerURL string) string {
	t.Helper()
	prefix := "test-" + strings.ToLower(rand.Text()[:12]) + "-"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
		defer cancel()
		if err := deleteAll(ctx, brokerURL, prefix); err != nil {
			t.Error(err)
		}
	})
	return prefix
}

// NewTopic creates a topic with a unique name, and deletes it when t ends. Configs are pairs like "cleanup.policy",
// "compact".
func NewTopic(t testing.TB, brokerURL string, partitions int, configs ...string) string {
	t.Helper()
	name := NewPrefix(t, brokerURL) + "topic"
	CreateTopic(t, brokerURL, name, partitions, configs...)
	return name
}

// CreateTopic creates a topic, and returns when a client can write to it.
func CreateTopic(t testing.TB, brokerURL, name string, partitions int, configs ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
	defer cancel()
	values := map[string]*string{}
	for i := 0; i+1 < len(configs); i += 2 {
		values[configs[i]] = &configs[i+1]
	}
	admin := Admin(t, brokerURL)
	answer, err := admin.CreateTopic(ctx, int32(partitions), -1, values, name)
	if err == nil {
		err = answer.Err
	}
	if err != nil {
		t.Fatalf("create the topic %s: %v", name, err)
	}
	// The broker learns of it after the controller's answer. It names leaders before their logs can be used.
	if err := catchUp(ctx, func() (bool, error) {
		ends, err := admin.ListEndOffsets(ctx, name)
		usable := 0
		for _, end := range ends[name] {
			if end.Err == nil {
				usable++
			}
		}
		return usable == partitions, err
	}); err != nil {
		t.Fatalf("the topic %s does not appear: %v", name, err)
	}
}

// catchUp waits until a broker does as the controller has answered.
func catchUp(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Admin returns an administrative client, closed when t ends.
func Admin(t testing.TB, brokerURL string) *kadm.Client { return kadm.NewClient(Client(t, brokerURL)) }

// Client returns a client without a password, closed when t ends.
func Client(t testing.TB, brokerURL string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := newClient(hosts(brokerURL), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func newClient(address string, options ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(address, ",")...),
		kgo.RetryTimeout(10 * time.Second), kgo.MetadataMinAge(10 * time.Millisecond)}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("make a client of Kafka: %w", err)
	}
	return client, nil
}

func hosts(brokerURL string) string {
	if u, err := url.Parse(brokerURL); err == nil {
		return u.Host
	}
	return strings.TrimPrefix(brokerURL, "kafka://")
}

func deleteAll(ctx context.Context, brokerURL, prefix string) error {
	client, err := newClient(hosts(brokerURL))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list the test's topics: %w", err)
	}
	var names []string
	for name := range topics {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		if _, err := admin.DeleteTopics(ctx, names...); err != nil {
			return fmt.Errorf("delete the test's topics: %w", err)
		}
		if err := catchUp(ctx, func() (bool, error) {
			left, err := admin.ListTopics(ctx)
			return !slices.ContainsFunc(names, left.Has), err
		}); err != nil {
			return fmt.Errorf("the test's topics do not disappear: %w", err)
		}
	}
	groups, err := admin.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("list the test's groups: %w", err)
	}
	names = nil
	for _, name := range groups.Groups() {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	if len(names) > 0 { // one with members stays, and expires
		if _, err := admin.DeleteGroups(ctx, names...); err != nil {
			return fmt.Errorf("delete the test's groups: %w", err)
		}
	}
	return nil
}
