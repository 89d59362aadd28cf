package rabbittest

import (
	"fmt"
	"strings"
)

// MemoryAlarm raises or clears the memory alarm, which blocks publishing connections.
func (s *Server) MemoryAlarm(raised bool) error {
	limit := "0.9"
	if raised {
		limit = "0.0"
	}
	_, err := s.Eval("vm_memory_monitor:set_vm_memory_high_watermark(" + limit + ")")
	return err
}

// DiskAlarm raises or clears the disk alarm, which blocks publishing connections.
func (s *Server) DiskAlarm(raised bool) error {
	limit := "1000000"
	if raised {
		limit = "1000000000000000"
	}
	_, err := s.Eval("rabbit_disk_monitor:set_disk_free_limit(" + limit + ")")
	return err
}

// SetConsumerTimeout sets the milliseconds after which the server closes a channel that does not acknowledge. Open
// channels learn of it at their next tick, within a minute; new ones have it.
func (s *Server) SetConsumerTimeout(ms int) error {
	_, err := s.Eval(fmt.Sprintf("application:set_env(rabbit, consumer_timeout, %d)", ms))
	return err
}

// Eval evaluates an Erlang call on the server, and returns its printed value. It takes a quarter of the time of
// rabbitmqctl.
func (s *Server) Eval(call string) (string, error) {
	remote := fmt.Sprintf(`io:format("~p", [erpc:call('tasker@localhost', fun() -> %s end, 60000)]), halt().`, call)
	cmd := s.server.Home.Command("erl", "-noinput", "-noshell", "-sname", "control@localhost", "-dist_listen", "false",
		"-start_epmd", "false", "-erl_epmd_port", fmt.Sprint(s.dist), "-eval", remote)
	cmd.Env = append(clean(cmd.Env), "HOME="+s.server.Home.Dir, "ERL_EPMD_PORT=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("evaluate %s on RabbitMQ: %w: %s", call, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
