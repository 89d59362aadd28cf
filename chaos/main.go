// Command chaos proves that a cluster of Tasker nodes on one PostgreSQL keeps its
// guarantees while nodes are killed, PostgreSQL is restarted and crashes, and the
// network between them is cut and stalled.
//
//	go run . [-seed N] [-minutes M] [-kills N] [-keep]
//
// It needs the programs of PostgreSQL 15 or newer. It ends with 0 when all
// guarantees were kept, with 1 when one was broken, and with 2 when the run could
// not be carried out. SIGINT and SIGTERM end it; nothing that it started stays
// behind, however it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/taskerhq/tasker/chaos/internal/proof"
)

func main() {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some of toxiproxy logs to standard error, whatever it is told
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "repeat the choices of the run with this seed")
	minutes := flag.Float64("minutes", 0, "load and faults go on for at least this long; one round of all faults when 0")
	kills := flag.Int("kills", 0, "kill nodes at least this often")
	keep := flag.Bool("keep", false, "keep the logs of a run that went wrong")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "chaos: there is no use for %q\n", flag.Args())
		return 2
	}
	dir, err := os.MkdirTemp("", "tasker-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 2
	}
	fmt.Printf("chaos: seed %d, in %s\n", *seed, dir)
	rep, err := proof.Run(ctx, proof.Options{
		Seed: *seed, Load: time.Duration(*minutes * float64(time.Minute)), Kills: *kills, Dir: dir, Out: os.Stdout,
	})
	if ok := err == nil && rep.OK(); ok || !*keep {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return tell(*seed, rep, err)
}

// tell prints what came of the run and returns the exit code.
func tell(seed uint64, rep *proof.Report, err error) int {
	if rep != nil {
		fmt.Print("\n", rep.Text)
		for _, v := range rep.Violations {
			fmt.Println("VIOLATION:", v)
		}
		for _, kind := range slices.Sorted(maps.Keys(rep.ByKind)) {
			fmt.Printf("VIOLATIONS of %s: %d\n", kind, rep.ByKind[kind])
		}
		for _, w := range rep.Weak {
			fmt.Println("THE RUN PROVES NOTHING:", w)
		}
		if err != nil || !rep.OK() {
			fmt.Print(rep.Logs)
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Printf("chaos: interrupted, seed %d\n", seed)
		return 2
	case err != nil:
		fmt.Fprintf(os.Stderr, "chaos: seed %d: %v\n", seed, err)
		return 2
	case !rep.OK():
		fmt.Fprintf(os.Stderr, "chaos: FAILED, seed %d\n", seed)
		return 1
	}
	fmt.Printf("chaos: all guarantees were kept, seed %d\n", seed)
	return 0
}
