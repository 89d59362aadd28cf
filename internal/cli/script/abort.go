package script

import (
	"context"
	"os/exec"
)

// killOn kills the group of a program, which is being ended because ctx is over, when abort is closed. A program whose
// ctx goes on is left to who ends it: only then is it known what becomes of its step. The returned function ends the
// watch.
func killOn(ctx context.Context, abort <-chan struct{}, cmd *exec.Cmd) (stop func()) {
	done := make(chan struct{})
	go func() {
		for _, next := range []<-chan struct{}{abort, ctx.Done()} {
			select {
			case <-next:
			case <-done:
				return
			}
		}
		select {
		case <-done: // its number may be that of another process by now
		default:
			killGroup(cmd)
		}
	}()
	return func() { close(done) }
}
