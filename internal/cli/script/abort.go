package script

import (
	"context"
	"os/exec"
)

// killOn kills the group of a program whose ctx has ended when abort is closed. While ctx lives, the program is
// left alone, because the fate of its step is unknown. stop ends the watch.
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
		case <-done: // another process may have the number by now
		default:
			killGroup(cmd)
		}
	}()
	return func() { close(done) }
}
