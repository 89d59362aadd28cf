package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	main := func() { os.Exit(cli.Main("v0.0.0-test")) }
	testscript.Main(m, map[string]func(){"tasker": main, "tasker-cli": main})
}

// TestScripts runs the sessions in testdata. Beside the usual commands they
// have:
//
//	exits CODE PROGRAM ARGS    run a program that must end with this code
//	capture NAME REGEXP        set a variable to the group in the last output
//	until REGEXP PROGRAM ARGS  run a program until its output matches
//	streams NUMBER             wait until the server has so many streams of events open
//	begins FILE                the last output begins with a file, variables replaced
//	report SOURCE NAME...      report dead letters of one cause
//	server FILE                wait for a server's address file, speak to it
func TestScripts(t *testing.T) {
	testscript.Run(t, params("testdata", noServer))
}

// TestPostgresScripts gives each session an empty schema in $DB.
func TestPostgresScripts(t *testing.T) {
	pgtest.DSN(t) // skips without a server
	testscript.Run(t, params("testdata/postgres", func(env *testscript.Env) error {
		env.Setenv("DB", pgtest.DSN(t))
		return noServer(env)
	}))
}

// TestStoreScripts runs sessions on each persistent store; $DB is empty.
func TestStoreScripts(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		testscript.Run(t, params("testdata/stores", func(env *testscript.Env) error {
			env.Setenv("DB", "sqlite:"+filepath.Join(env.WorkDir, "tasker.db"))
			return noServer(env)
		}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		pgtest.DSN(t) // skips without a server
		testscript.Run(t, params("testdata/stores", func(env *testscript.Env) error {
			env.Setenv("DB", pgtest.DSN(t))
			return noServer(env)
		}))
	})
}

// TestKafkaScripts uses SQLite and a Kafka; see kafkaTopics.
func TestKafkaScripts(t *testing.T) {
	kafkatest.Shared(t) // skips without a broker
	testscript.Run(t, params("testdata/kafka", func(env *testscript.Env) error {
		env.Setenv("DB", "sqlite:"+filepath.Join(env.WorkDir, "tasker.db"))
		if err := kafkaTopics(t, env); err != nil {
			return err
		}
		return noServer(env)
	}))
}

// kafkaTopics sets $KAFKA to a broker's URL, $TOPIC to a topic with six records and $QUEUE to an empty one.
func kafkaTopics(t *testing.T, env *testscript.Env) error {
	broker := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, broker, 1)
	var records []*kgo.Record
	for n := range 6 {
		records = append(records, &kgo.Record{Topic: topic, Key: []byte{"ab"[n%2]}, Value: fmt.Appendf(nil, `{"n":%d}`, n),
			Headers: []kgo.RecordHeader{{Key: "type", Value: []byte("mail")}}})
	}
	if err := kafkatest.Client(t, broker).ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		return fmt.Errorf("fill the topic of a session: %w", err)
	}
	env.Setenv("KAFKA", broker)
	env.Setenv("TOPIC", topic)
	env.Setenv("QUEUE", kafkatest.NewTopic(t, broker, 1))
	return nil
}

func params(dir string, setup func(*testscript.Env) error) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "server": awaitServer, "until": until, "streams": awaitStreams, "begins": begins,
			"report": reportLetters,
		},
		Setup: setup,
	}
}

func noServer(env *testscript.Env) error {
	// Nothing listens here.
	env.Setenv("TASKER_SERVER", "http://127.0.0.1:1")
	// A program built for the race detector sleeps for a second at its end.
	env.Setenv("GORACE", "atexit_sleep_ms=10")
	// For a session that renames the binary.
	program, err := exec.LookPath("tasker")
	env.Setenv("TASKER", program)
	return err
}
