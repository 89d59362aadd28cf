// Command chaos proves that a cluster of Tasker nodes on one PostgreSQL keeps its guarantees while nodes are killed,
// PostgreSQL is restarted and crashes, and the network between them is cut and stalled.
//
//	go run ./chaos [-seed N] [-minutes M] [-kills N] [-redis] [-keep] [-unsafe]
//	go run ./chaos -failover [-seed N] [-minutes M] [-keep] [-unsafe]
//
// With -failover the database is replaced instead: a synchronous and an asynchronous standby are promoted, a backup is
// swapped in, and the primary hangs. Only acknowledged work of the time that an asynchronous standby or a backup lacks
// may be lost; it is counted.
//
// With -redis the nodes dispatch through a Redis, which is also killed, flushed and cut off.
//
// It needs the programs of PostgreSQL 15 or newer, and of Redis. It exits with 0 if all guarantees were kept, with 1
// if one was broken, and with 2 if the run could not be carried out. SIGINT and SIGTERM end it. It leaves no process
// behind.
//
// With -unsafe PostgreSQL loses commits when it crashes; with -failover, the checker does not learn which time is
// lost. That run must exit with 1: it shows that the proof would find a loss.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/taskerhq/tasker/proof/chaos/internal/siege"
)

// Exit codes.
const (
	kept = iota
	broken
	impossible
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(errs)
	o := siege.Options{Out: out}
	flags.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "repeat the choices of the run with this seed")
	minutes := flags.Float64("minutes", 0, "load and faults go on for at least this long; one round of all faults when 0")
	flags.IntVar(&o.Kills, "kills", 0, "kill nodes at least this often; without -failover")
	flags.BoolVar(&o.Redis, "redis", false, "dispatch through a Redis, which is killed, flushed and cut off too")
	flags.BoolVar(&o.Unsafe, "unsafe", false, "let PostgreSQL lose commits when it crashes: the run has to find that")
	failover := flags.Bool("failover", false,
		"replace the database instead: by a standby, by a backup, and while it hangs")
	keep := flags.Bool("keep", false, "keep the binary and the logs of a run that went wrong")
	if err := flags.Parse(args); err != nil {
		return impossible
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(errs, "chaos: there is no use for %q\n", flags.Args())
		return impossible
	}
	if *failover && o.Redis {
		fmt.Fprintln(errs, "chaos: -failover does not go with -redis")
		return impossible
	}
	o.Load = time.Duration(*minutes * float64(time.Minute))
	dir, err := os.MkdirTemp("", "tasker-chaos-")
	if err != nil {
		fmt.Fprintln(errs, "chaos:", err)
		return impossible
	}
	o.Dir = dir
	fmt.Fprintf(out, "chaos: seed %d, in %s\n", o.Seed, dir)
	carryOut := siege.Run
	if *failover {
		carryOut = siege.RunFailovers
	}
	rep, err := carryOut(ctx, o)
	if ok := err == nil && rep.OK(); ok || !*keep {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if rep != nil {
		show(out, rep, err == nil && rep.OK())
	}
	switch {
	case err == nil && rep.OK():
		fmt.Fprintf(out, "chaos: all guarantees were kept, seed %d\n", o.Seed)
		return kept
	case ctx.Err() != nil:
		fmt.Fprintf(errs, "chaos: interrupted, seed %d\n", o.Seed)
		return impossible
	case err != nil:
		fmt.Fprintf(errs, "chaos: seed %d: %v\n", o.Seed, err)
	}
	if rep == nil || len(rep.Violations) == 0 && err != nil {
		return impossible
	}
	fmt.Fprintf(errs, "chaos: FAILED, seed %d\n", o.Seed)
	return broken
}

func show(out io.Writer, rep *siege.Report, ok bool) {
	fmt.Fprintf(out, "\n%s", rep.Text)
	for _, v := range rep.Violations {
		fmt.Fprintln(out, "VIOLATION:", v)
	}
	for _, kind := range slices.Sorted(maps.Keys(rep.ByKind)) {
		fmt.Fprintf(out, "VIOLATIONS of %s: %d\n", kind, rep.ByKind[kind])
	}
	for _, w := range rep.Weak {
		fmt.Fprintln(out, "THE RUN PROVES NOTHING:", w)
	}
	if !ok {
		fmt.Fprint(out, rep.Logs)
	}
}
