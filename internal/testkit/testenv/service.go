package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/internal/testkit/browsertest/chromium"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/internal/testkit/s3test"
)

// service is a server or a program for tests. One without a port is a program that tests start themselves; a variable
// may name it.
type service struct {
	name      string
	variable  string       // has the DSN, or the path of a program
	packages  []string     // of Debian and Ubuntu
	installed func() error // why its programs are unusable; nil if usable
	// fetch gets what packages lack, and may need them; nil: nothing to get.
	fetch func(log io.Writer) error
	// start returns nil for stop if there is nothing to stop. A program without a variable has none.
	start func() (dsn string, stop func() error, err error)

	// In deploy/compose.test.yml it has its name and listens on port; dsn makes the DSN from address and password.
	port int
	dsn  func(address, password string) string
	// A second port with its own variable, for containers: with start, tests know the port.
	second *endpoint
}

type endpoint struct {
	variable string
	port     int
	dsn      func(address string) string
}

// named reports whether the environment names the service.
func (s service) named() bool { return s.variable != "" && os.Getenv(s.variable) != "" }

// missing fetches if possible, and returns why the programs are unusable.
func (s service) missing(log io.Writer) error {
	err := s.installed()
	if err == nil || s.fetch == nil || s.named() {
		return err
	}
	fmt.Fprintf(log, "testenv: %s: %v; fetching it\n", s.name, err)
	if err := s.fetch(log); err != nil {
		return err
	}
	return s.installed()
}

// services are all of them. A new one needs an entry here and a service in deploy/compose.test.yml.
var services = []service{
	{
		name:     "postgres",
		variable: pgtest.Variable,
		packages: []string{"postgresql"},
		installed: func() error {
			_, err := pgtest.Programs()
			return err
		},
		start: func() (string, func() error, error) {
			s, err := pgtest.LaunchShared()
			if err != nil {
				return "", nil, err
			}
			return s.DSN(), s.Close, nil
		},
		port: 5432,
		dsn: func(address, password string) string {
			return fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", password, address)
		},
	},
	{
		name:     "redis",
		variable: redistest.Variable,
		packages: []string{"redis"},
		installed: func() error {
			_, err := redistest.Program()
			return err
		},
		start: func() (string, func() error, error) {
			s, err := redistest.Launch()
			if err != nil {
				return "", nil, err
			}
			return s.URL(), s.Close, nil
		},
		port: 6379,
		dsn: func(address, password string) string {
			return fmt.Sprintf("redis://:%s@%s", password, address)
		},
	},
	{
		name:     "rabbitmq",
		variable: rabbittest.Variable,
		packages: []string{"rabbitmq-server"},
		installed: func() error {
			_, err := rabbittest.Program()
			return err
		},
		start: func() (string, func() error, error) {
			s, err := rabbittest.Launch()
			if err != nil {
				return "", nil, err
			}
			return s.URL(), s.Close, nil
		},
		port: 5672,
		dsn: func(address, password string) string {
			return fmt.Sprintf("amqp://tasker:%s@%s/", password, address)
		},
		second: &endpoint{rabbittest.ManagementVariable, 15672, func(address string) string {
			return "http://" + address
		}},
	},
	{
		name:      "kafka",
		variable:  kafkatest.Variable,
		packages:  []string{"default-jre-headless", "maven"},
		installed: kafkatest.Program,
		fetch:     kafkatest.Fetch,
		start: func() (string, func() error, error) {
			s, err := kafkatest.Launch(nil)
			if err != nil {
				return "", nil, err
			}
			return s.URL(), s.Close, nil
		},
		port: 9092,
		dsn:  func(address, _ string) string { return "kafka://" + address },
	},
	{
		name:     "s3",
		variable: s3test.Variable,
		installed: func() error {
			_, err := s3test.Program()
			return err
		},
		fetch: s3test.Fetch,
		start: func() (string, func() error, error) {
			s, err := s3test.Launch()
			if err != nil {
				return "", nil, err
			}
			return s.DSN(), s.Close, nil
		},
	},
	{
		name:     "pgbouncer",
		packages: []string{"pgbouncer"},
		installed: func() error {
			_, err := pgtest.Bouncer()
			return err
		},
	},
	{
		name:     "chromium",
		variable: chromium.Variable,
		packages: []string{"chromium"},
		installed: func() error {
			_, err := chromium.Program()
			return err
		},
		start: func() (string, func() error, error) {
			path, err := chromium.Program()
			return path, nil, err
		},
	},
	// Called by commands in the documentation.
	tool("curl", "curl"),
	tool("jq", "jq"),
	tool("psql", "postgresql-client"),
	tool("sqlite3", "sqlite3"),
}

func tool(name, pkg string) service {
	return service{name: name, packages: []string{pkg}, installed: func() error {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not installed", name)
		}
		return nil
	}}
}

// bringUp starts all services concurrently. It returns the variables with their addresses, and a stop that is never
// nil.
func bringUp(all []service, log io.Writer) (variables []string, stop func() error, err error) {
	log = &serialWriter{w: log}
	if err := installMissing(all, log); err != nil {
		fmt.Fprintf(log, "testenv: %v\n", err) // perhaps Docker helps
	}
	var wg sync.WaitGroup
	ups := make([]up, len(all))
	for i, s := range all {
		wg.Go(func() { ups[i] = bringUpOne(s, all, log) })
	}
	wg.Wait()
	var errs []error
	for _, u := range ups {
		variables, errs = append(variables, u.variables...), append(errs, u.err)
	}
	stop = func() error {
		var errs []error
		for _, u := range slices.Backward(ups) {
			if u.stop != nil {
				errs = append(errs, u.stop())
			}
		}
		return errors.Join(errs...)
	}
	return variables, stop, errors.Join(errs...)
}

// up is a started service, or the reason why it did not start.
type up struct {
	variables []string
	stop      func() error // nil: nothing was started
	err       error
}

// bringUpOne starts a service; all are for the advice if that fails.
func bringUpOne(s service, all []service, log io.Writer) (u up) {
	missing := s.missing(log)
	switch {
	case s.variable == "" && missing == nil:
		return u
	case s.named():
		fmt.Fprintf(log, "testenv: %s: the one that %s names\n", s.name, s.variable)
		return u
	case s.port == 0 && missing != nil && os.Getenv("CI") == "true":
		u.err = missing
		return u
	case s.port == 0 && missing != nil:
		fmt.Fprintf(log, "testenv: %s: %v; tests that need it will be SKIPPED\n", s.name, missing)
		return u
	case missing == nil:
		if s.port != 0 {
			fmt.Fprintf(log, "testenv: %s: starting the one that is installed\n", s.name)
		}
		var dsn string
		dsn, u.stop, u.err = s.start()
		u.variables = []string{s.variable + "=" + dsn}
	default:
		fmt.Fprintf(log, "testenv: %s: %v; asking Docker\n", s.name, missing)
		if u.variables, u.stop, u.err = composeUp(s, log); u.err != nil {
			u.err = fmt.Errorf("%w, and %w\n\n%s", missing, u.err, advice(all))
		}
	}
	return u
}

type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *serialWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// installMissing uses the package manager where that is expected: in CI, and as root, such as in a container.
func installMissing(all []service, log io.Writer) error {
	packages, why := wanted(all, log)
	root := os.Geteuid() == 0
	apt, err := exec.LookPath("apt-get")
	if len(packages) == 0 || err != nil || !root && os.Getenv("CI") != "true" {
		return nil
	}
	fmt.Fprintf(log, "testenv: about to install these packages with %s:\n%s"+
		"testenv: to do without, stop this and run go test ./..., which skips the tests that need them\n", apt, why)
	return install(root, apt, packages, log)
}

// wanted returns the packages of missing services, and a line with the reason for each.
func wanted(all []service, log io.Writer) (packages []string, why string) {
	for _, s := range all {
		if err := s.missing(log); err != nil && !s.named() && len(s.packages) > 0 {
			packages = append(packages, s.packages...)
			why += fmt.Sprintf("  %-30s for tests of %s: %v\n", strings.Join(s.packages, " "), s.name, err)
		}
	}
	return packages, why
}

// advice says how to get missing services.
func advice(all []service) string {
	var packages []string
	for _, s := range all {
		packages = append(packages, s.packages...)
	}
	return fmt.Sprintf(`The tests want PostgreSQL %d, Redis %d, RabbitMQ %d.%d and Java %d, or newer. One of these helps:
  Debian, Ubuntu   sudo apt-get install %s
  macOS            brew install %s
  Docker           start it; "docker info" and "docker compose" have to work
  a server         export %s=postgres://user:password@host/database
                   export %s=redis://:password@host:port
                   export %s=amqp://user:password@host:5672/
                   export %s=kafka://host:9092
  a browser        export %s=/path/to/chromium
With Java and Maven, Kafka %s is fetched.
Or run "go test ./...", which skips the tests that need a server, and says so.`,
		pgtest.Oldest, redistest.Oldest, rabbittest.OldestMajor, rabbittest.OldestMinor, kafkatest.OldestJava,
		strings.Join(packages, " "), strings.Join(packages, " "), pgtest.Variable, redistest.Variable, rabbittest.Variable,
		kafkatest.Variable, chromium.Variable, kafkatest.Version)
}
