package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
)

// listen fails with CodeUnavailable and a remedy if the address is in use, or not one of this machine.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		return ln, nil
	}
	e := &tasker.Error{Code: tasker.CodeUnavailable, Message: fmt.Sprintf("listen on %s: %v", addr, err), Err: err}
	var op *net.OpError
	if errors.As(err, &op) {
		e.Message = fmt.Sprintf("listen on %s: %v", addr, op.Err)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		e.Hint = "something listens there already, another tasker perhaps; take another port with --listen"
	}
	return nil, e
}

// reachable is an address for local clients: the loopback for a server on all addresses.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return addr.String()
	}
	if tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return tcp.String()
}

func keyring(cfg *config.Config) (*access.Keyring, error) {
	keys, err := access.New(cfg.Keys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}
