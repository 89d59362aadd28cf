package kafkatest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Server is a Kafka, broker and controller in one, or the second broker of a Cluster, of one test or process. Its
// methods are safe for concurrent use.
type Server struct {
	server     *testserver.Server
	program    program
	id         int     // of the node
	first      *Server // the controller of its cluster; nil: itself
	controller int     // a port
	settings   map[string]string
	listeners  []Listener
}

// Listener is an additional listener of a broker.
type Listener struct {
	Name       string // in settings, in capital letters
	Protocol   string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Port       int    // on 127.0.0.1
	Advertised string // host:port for clients; "" for the listener's
}

// Start starts a broker that ends with t. Settings are those of server.properties, and override ours. Topics are not
// created by use.
func Start(t testing.TB, settings map[string]string, more ...Listener) *Server {
	t.Helper()
	s, err := Launch(settings, more...)
	testserver.OrSkip(t, err)
	s.server.CloseWith(t)
	return s
}

// Launch is Start without a test: the caller closes the broker. It ends with the process at the latest.
func Launch(settings map[string]string, more ...Listener) (*Server, error) {
	return launch(settings, nil, more...)
}

func launch(settings map[string]string, first *Server, more ...Listener) (*Server, error) {
	p, err := find()
	if err != nil {
		return nil, err
	}
	home, err := testserver.NewHome("kafka", `kill -KILL "$(cat pid)"`)
	if err != nil {
		return nil, err
	}
	s := &Server{program: p, settings: settings, listeners: more, id: 1, first: first}
	if first != nil {
		s.id, s.controller = 2, first.controller
	} else if s.controller, err = testserver.FreePort(); err != nil {
		return nil, errors.Join(err, home.Close())
	}
	s.server = &testserver.Server{Name: "Kafka", Home: home, Kill: os.Kill, Program: s.command, Greet: greet}
	if err := s.server.Begin(); err != nil {
		return nil, err
	}
	return s, nil
}

// defaults are settings for one small broker that starts fast. Retention acts every second.
func (s *Server) defaults(port int) map[string]string {
	listen, roles := fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", port), "broker"
	if s.first == nil {
		listen, roles = fmt.Sprintf("%s,CONTROLLER://127.0.0.1:%d", listen, s.controller), "broker,controller"
	}
	advertise := fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", port)
	protocols := "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
	for _, l := range s.listeners {
		at := fmt.Sprintf("127.0.0.1:%d", l.Port)
		listen += "," + l.Name + "://" + at
		advertise += "," + l.Name + "://" + cmp.Or(l.Advertised, at)
		protocols += "," + l.Name + ":" + l.Protocol
	}
	return map[string]string{
		"process.roles":                  roles,
		"node.id":                        strconv.Itoa(s.id),
		"controller.quorum.voters":       fmt.Sprintf("1@127.0.0.1:%d", s.controller),
		"controller.listener.names":      "CONTROLLER",
		"listeners":                      listen,
		"advertised.listeners":           advertise,
		"inter.broker.listener.name":     "PLAINTEXT",
		"listener.security.protocol.map": protocols,
		"log.dirs":                       filepath.Join(s.server.Home.Dir, "data"),

		"auto.create.topics.enable":                "false",
		"delete.topic.enable":                      "true",
		"default.replication.factor":               "1",
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "1",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"transaction.state.log.num.partitions":     "1",
		"group.initial.rebalance.delay.ms":         "0",
		"group.min.session.timeout.ms":             "1000",
		// A killed broker waits for the end of its former session.
		"broker.session.timeout.ms":    "2000",
		"broker.heartbeat.interval.ms": "400",

		"num.network.threads":               "2",
		"num.io.threads":                    "2",
		"background.threads":                "2",
		"num.recovery.threads.per.data.dir": "2",
		"log.cleaner.threads":               "1",
		"log.cleaner.dedupe.buffer.size":    "4194304",
		"log.cleaner.backoff.ms":            "500",
		"log.retention.check.interval.ms":   "1000",
		"log.segment.delete.delay.ms":       "0",
		"log.index.size.max.bytes":          "65536", // it is mapped whole
		"message.max.bytes":                 "20971520",
		"replica.fetch.max.bytes":           "20971520",
		"socket.request.max.bytes":          "104857600",
	}
}

// command is the broker as a process that serves a port, with its files in its home. The first run formats its
// directory.
func (s *Server) command(port int) (*exec.Cmd, error) {
	settings := s.defaults(port)
	maps.Copy(settings, s.settings)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s=%s\n", name, settings[name])
	}
	file, err := s.server.Home.Write("server.properties", b.String())
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(settings["log.dirs"], "meta.properties")); err != nil {
		format := s.run("kafka.tools.StorageTool", "format", "--cluster-id", "taskertesttaskertestta", "--config", file)
		if out, err := format.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("format the directory of Kafka: %w: %s", err, out)
		}
	}
	return s.run("kafka.Kafka", file), nil
}

// run is a class of Kafka as a process. With the less optimizing Java compiler it starts in half of the time.
func (s *Server) run(class string, args ...string) *exec.Cmd {
	cmd := s.server.Home.Command(s.program.java, append([]string{"-Xms96m", "-Xmx320m", "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto", "-Djava.awt.headless=true",
		"-Djava.io.tmpdir=" + s.server.Home.Dir, "-Dlog4j2.level=WARN",
		"-cp", filepath.Join(s.program.jars, "*"), class}, args...)...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		return strings.HasPrefix(v, "KAFKA_") || strings.HasPrefix(v, "JAVA_") || strings.HasPrefix(v, "_JAVA_") ||
			strings.HasPrefix(v, "JDK_JAVA_") || strings.HasPrefix(v, "CLASSPATH=")
	})
	return cmd
}

// greet reports whether the broker accepts clients, and is ready for topics.
func greet(ctx context.Context, port int) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("dial Kafka: %w", err)
	}
	if err := conn.Close(); err != nil {
		return err
	}
	client, err := newClient(address, kgo.RequestRetries(0)) // the caller tries again, sooner
	if err != nil {
		return err
	}
	defer client.Close()
	meta, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err == nil && (len(meta.Brokers) == 0 || meta.Controller < 0) {
		err = errors.New("kafka knows no broker yet")
	}
	return err
}

// URL returns kafka://host:port. It stays the same over a restart.
func (s *Server) URL() string { return "kafka://" + s.Address() }

// Address returns host:port.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.Port()) }

// Port returns the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.server.Port() }

// Stop shuts the broker down and returns when it is down.
func (s *Server) Stop() error { return s.server.Stop(syscall.SIGTERM) }

// Kill kills the broker with SIGKILL and returns when it is gone.
func (s *Server) Kill() error { return s.server.Stop(os.Kill) }

// Restart stops the broker if it is up, and returns when it answers again.
func (s *Server) Restart() error { return s.server.Restart(syscall.SIGTERM) }

// Close ends the broker and removes it.
func (s *Server) Close() error { return s.server.Close() }
