package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// conn speaks the needed part of the Redis protocol (RESP 2), so that tests of a client do not rely on that client.
type conn struct {
	net net.Conn
	in  *bufio.Reader
}

// dial connects, and returns when the server is ready.
func dial(ctx context.Context, address string) (*conn, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "redis" || u.Port() == "" {
		return nil, errors.New("the URL of the test server has to be redis://[user:password@]host:port[/database]")
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("dial Redis: %w", err)
	}
	c := &conn{net: raw, in: bufio.NewReader(raw)}
	if err := c.open(ctx, u); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) open(ctx context.Context, u *url.URL) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.net.SetDeadline(deadline); err != nil {
			return err
		}
	}
	var hello [][]string
	if password, ok := u.User.Password(); ok {
		auth := []string{"AUTH", password}
		if name := u.User.Username(); name != "" {
			auth = []string{"AUTH", name, password}
		}
		hello = append(hello, auth)
	}
	if database := strings.Trim(u.Path, "/"); database != "" {
		hello = append(hello, []string{"SELECT", database})
	}
	for _, command := range append(hello, []string{"PING"}) {
		if _, err := c.do(command...); err != nil {
			return fmt.Errorf("%s: %w", command[0], err)
		}
	}
	return nil
}

func (c *conn) close() error { return c.net.Close() }

// do sends a command and returns the answer: a string, an int64, nil, or a list of these.
func (c *conn) do(args ...string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c.net, b.String()); err != nil {
		return nil, fmt.Errorf("write to Redis: %w", err)
	}
	return c.answer()
}

func (c *conn) answer() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read from Redis: %w", err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("read from Redis: an empty line")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, fmt.Errorf("refused by Redis: %s", rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read from Redis: %q", line)
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		raw := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, raw); err != nil {
			return nil, fmt.Errorf("read from Redis: %w", err)
		}
		return string(raw[:n]), nil
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = c.answer(); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("read from Redis: %q", line)
}

// deleteAll deletes the keys that begin with prefix, which must not have special characters of patterns.
func (c *conn) deleteAll(prefix string) error {
	for cursor := "0"; ; {
		answer, err := c.do("SCAN", cursor, "MATCH", prefix+"*", "COUNT", "1000")
		if err != nil {
			return fmt.Errorf("look for the test's keys: %w", err)
		}
		page, _ := answer.([]any)
		if len(page) != 2 {
			return fmt.Errorf("look for the test's keys: %v", answer)
		}
		keys, _ := page[1].([]any)
		del := []string{"UNLINK"}
		for _, k := range keys {
			del = append(del, fmt.Sprint(k))
		}
		if len(keys) > 0 {
			if _, err := c.do(del...); err != nil {
				return fmt.Errorf("delete the test's keys: %w", err)
			}
		}
		if cursor = fmt.Sprint(page[0]); cursor == "0" {
			return nil
		}
	}
}
