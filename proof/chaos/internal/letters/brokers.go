package letters

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// brokers is a Redis, RabbitMQ or Kafka behind a link that can fail; or a master and a replica of Redis with three
// Sentinels, without a link: Sentinels give clients the addresses of servers.
type brokers struct {
	rabbit *rabbittest.Server // nil: another broker
	kafka  *kafkatest.Server  // nil: another broker
	tap    *tap               // between the link and RabbitMQ or Kafka
	queues closable           // nil: those of Redis, or none

	servers   []*redistest.Server
	sentinels []*redistest.Server
	link      *cluster.Link // nil with Sentinels
}

type closable interface {
	queues
	close()
}

// durable: acknowledged writes survive a kill. With everysec nearly always, too.
var durable = []string{"appendonly=yes", "appendfsync=always"}

// The account of nodes and applications, and between servers.
const user, secret = "tasker", "secret"

func openBrokers(ctx context.Context, failover, unsafe bool) (*brokers, error) {
	b := &brokers{}
	if !failover {
		settings := durable
		if unsafe {
			settings = nil
		}
		s, err := redistest.Launch(settings...)
		if err != nil {
			return b, err
		}
		b.servers = append(b.servers, s)
		addresses, err := process.Addresses(1)
		if err != nil {
			return b, err
		}
		b.link, err = cluster.NewLink(addresses[0], fmt.Sprintf("127.0.0.1:%d", s.Port()))
		return b, err
	}
	settings := append([]string{"user=" + user + " on >" + secret + " ~* &* +@all", "masteruser=" + user,
		"masterauth=" + secret, "repl-diskless-sync-delay=0"}, durable...)
	for range 2 {
		s, err := redistest.Launch(settings...)
		if err != nil {
			return b, err
		}
		b.servers = append(b.servers, s)
	}
	var err error
	_, err = redistest.Do(b.servers[1].URL(), "REPLICAOF", "127.0.0.1", fmt.Sprint(b.servers[0].Port()))
	if err == nil {
		b.sentinels, err = redistest.LaunchSentinels(3, b.servers[0], user, secret)
	}
	if err == nil {
		err = b.paired(ctx)
	}
	return b, err
}

// openRabbits starts a RabbitMQ, with queues of a kind, if there is one. tell gets what passes the link.
func openRabbits(k *kind, tell func(string)) (*brokers, error) {
	b := &brokers{}
	var err error
	if b.rabbit, err = rabbittest.Launch(); err != nil {
		return b, err
	}
	if b.tap, err = newTap(fmt.Sprintf("127.0.0.1:%d", b.rabbit.Port()), tell, signsOfRabbit); err != nil {
		return b, err
	}
	addresses, err := process.Addresses(1)
	if err != nil {
		return b, err
	}
	if b.link, err = cluster.NewLink(addresses[0], b.tap.listener.Addr().String()); err != nil || k == nil {
		return b, err
	}
	queues, err := openRabbit(k, b.rabbit)
	if err == nil {
		b.queues = queues
	}
	return b, err
}

type server interface {
	Kill() error
	Restart() error
}

// victim returns the next server to kill, with its name.
func (b *brokers) victim() (server, string) {
	switch {
	case b.rabbit != nil:
		return atOnce{b.rabbit}, "RabbitMQ"
	case b.kafka != nil:
		return b.kafka, "Kafka"
	}
	return b.master(), "Redis"
}

// atOnce is a RabbitMQ that is killed immediately: it has written the list of its queues.
type atOnce struct{ *rabbittest.Server }

func (s atOnce) Kill() error { return s.KillNow() }

// through is the URL of the broker for nodes and applications.
func (b *brokers) through(parameters url.Values) string {
	switch {
	case b.rabbit != nil:
		return b.throughTo(b.rabbit.URL(), parameters)
	case b.kafka != nil:
		return b.throughTo(b.kafka.URL(), parameters)
	}
	u, err := url.Parse(b.servers[0].URL())
	if len(b.sentinels) > 0 {
		u, err = url.Parse(b.sentinels[0].URL())
	}
	if err != nil {
		panic(err) // the URLs are of our making
	}
	switch {
	case len(b.sentinels) > 0:
		password, _ := u.User.Password()
		u.User = url.UserPassword(user, secret)
		parameters.Set("master_set", "main")
		parameters.Set("sentinel_password", password)
		for _, s := range b.sentinels[1:] {
			parameters.Add("addr", fmt.Sprintf("127.0.0.1:%d", s.Port()))
		}
	default:
		return b.throughTo(b.servers[0].URL(), parameters)
	}
	u.RawQuery = parameters.Encode()
	return u.String()
}

// throughTo is the URL of a server, over the link.
func (b *brokers) throughTo(server string, parameters url.Values) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // the URLs are of our making
	}
	u.Host, u.RawQuery = b.link.Address(), parameters.Encode()
	return u.String()
}

// master returns the present master; during an election the last one.
func (b *brokers) master() *redistest.Server {
	for _, s := range b.sentinels {
		answer, err := redistest.Do(s.URL(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
		at, _ := answer.([]any)
		if err != nil || len(at) != 2 {
			continue
		}
		for _, server := range b.servers {
			if fmt.Sprint(at[1]) == fmt.Sprint(server.Port()) {
				return server
			}
		}
	}
	return b.servers[0]
}

func (b *brokers) url() string { return b.master().URL() }

func (b *brokers) replica() *redistest.Server {
	if b.master() == b.servers[0] {
		return b.servers[1]
	}
	return b.servers[0]
}

func (b *brokers) paired(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for {
		ready := 0
		for _, s := range b.sentinels {
			answer, err := redistest.Do(s.URL(), "SENTINEL", "REPLICAS", "main")
			text := fmt.Sprint(answer)
			if err == nil && strings.Contains(text, "master-link-status ok") && !strings.Contains(text, "s_down") {
				ready++
			}
		}
		if ready == len(b.sentinels) {
			return nil
		}
		if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("no replica follows the master: %w", err)
		}
	}
}

// part cuts the replica off: later writes to the master are lost in a failover.
func (b *brokers) part() error {
	replica := b.replica().URL()
	if _, err := redistest.Do(replica, "CONFIG", "SET", "masterauth", "wrong"); err != nil {
		return err
	}
	_, err := redistest.Do(replica, "CLIENT", "KILL", "TYPE", "master")
	return err
}

// failOver kills the master and returns when the replica has replaced it.
func (b *brokers) failOver(ctx context.Context) (old *redistest.Server, err error) {
	old, replica := b.master(), b.replica()
	if err := old.Kill(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for b.master() != replica {
		if err := clock.Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("the replica does not become the master: %w", err)
		}
	}
	_, err = redistest.Do(replica.URL(), "CONFIG", "SET", "masterauth", secret)
	return old, err
}

func (b *brokers) close() error {
	if b.link != nil {
		b.link.Close()
	}
	var errs []error
	if b.queues != nil {
		b.queues.close()
	}
	if b.tap != nil {
		errs = append(errs, b.tap.Close())
	}
	if b.rabbit != nil {
		errs = append(errs, b.rabbit.Close())
	}
	if b.kafka != nil {
		errs = append(errs, b.kafka.Close())
	}
	for _, s := range append(b.sentinels, b.servers...) {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
