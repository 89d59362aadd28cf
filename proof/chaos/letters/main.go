// Command letters proves that dead letters in Redis, RabbitMQ and Kafka, jobs of package redisqueue, and steps
// dispatched over RabbitMQ survive faults: nodes, applications, workers and brokers are killed and frozen, connections
// break, Redis is emptied, and a late replica takes over.
//
//	go run ./chaos/letters [-seed N] [-kills N] [-only NAME,...] [-at-once N] [-node bin/tasker] [-keep] [-unsafe]
//
// With -unsafe a killed Redis loses everything. That run must exit with 1: it shows that the proof would find a loss.
//
// It needs the programs of Redis, RabbitMQ and Kafka, and those of PostgreSQL for some of the runs. It exits with 0 if
// all promises were kept, with 1 if one was broken, and with 2 if a run could not be carried out. It leaves no process
// behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/chaos/internal/letters"
)

// Exit codes.
const (
	kept = iota
	broken
	impossible
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv(letters.ApplicationVariable) != "" {
		if err := letters.Application(ctx, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "application:", err)
			os.Exit(broken)
		}
		return
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("letters", flag.ContinueOnError)
	flags.SetOutput(errs)
	o := letters.Options{Out: out}
	flags.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()>>20), "repeat the choices of the runs with this seed")
	flags.IntVar(&o.Kills, "kills", 4, "kills in each run")
	only := flags.String("only", "", "names of runs, with commas: "+strings.Join(letters.Names(), ", "))
	atOnce := flags.Int("at-once", 2, "how many runs at a time")
	flags.StringVar(&o.Node, "node", "", "path of the binary of Tasker; it is built if there is none")
	flags.BoolVar(&o.Unsafe, "unsafe", false, "let Redis keep nothing: the runs have to find that")
	keep := flags.Bool("keep", false, "keep databases, spools and logs")
	if err := flags.Parse(args); err != nil {
		return impossible
	}
	if flags.NArg() > 0 || *atOnce < 1 {
		fmt.Fprintf(errs, "letters: there is no use for %q, %d at once\n", flags.Args(), *atOnce)
		return impossible
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	reports, err := carryOut(ctx, o, *atOnce, *keep)
	code := kept
	for _, r := range reports {
		show(out, r)
		switch {
		case len(r.Violations) > 0:
			code = broken
		case r.Err != nil && code == kept:
			code = impossible
		}
	}
	switch {
	case err != nil:
		fmt.Fprintf(errs, "letters: seed %d: %v\n", o.Seed, err)
		return max(code, impossible)
	case code != kept:
		fmt.Fprintf(errs, "letters: FAILED, seed %d\n", o.Seed)
	default:
		fmt.Fprintf(out, "letters: all promises were kept, seed %d\n", o.Seed)
	}
	return code
}

// carryOut prepares a directory and the programs, and carries out the runs.
func carryOut(ctx context.Context, o letters.Options, atOnce int, keep bool) (reports []*letters.Report, err error) {
	if o.Dir, err = os.MkdirTemp("", "tasker-letters-"); err != nil {
		return nil, err
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	fmt.Fprintf(o.Out, "letters: seed %d, %d kills in each run, in %s\n", o.Seed, o.Kills, o.Dir)
	if o.Application, err = os.Executable(); err != nil {
		return nil, err
	}
	if o.Node == "" {
		if o.Node, err = process.Build(ctx, o.Dir); err != nil {
			return nil, err
		}
	}
	return letters.Run(ctx, o, atOnce)
}

func show(out io.Writer, r *letters.Report) {
	fmt.Fprintln(out, r.Text)
	for _, v := range r.Violations {
		fmt.Fprintf(out, "VIOLATION in %s: %s\n", r.Name, v)
	}
	if r.Err != nil {
		fmt.Fprintf(out, "%s could not be carried out: %v\n", r.Name, r.Err)
	}
	fmt.Fprint(out, r.Logs)
}
