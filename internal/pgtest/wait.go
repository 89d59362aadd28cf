package pgtest

import (
	"context"
	"errors"
	"os"
	"time"
)

// errEnded is the error when a server ended instead of answering.
var errEnded = errors.New("the server ended")

// answers waits until a process lets clients connect.
func answers(dsn string, p *os.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := connect(ctx, dsn)
		switch {
		case err == nil:
			return conn.Close(ctx)
		case exited(p):
			return errEnded
		case ctx.Err() != nil:
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
