package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
)

// defaultServer is the address that serve listens on by default.
const defaultServer = "http://127.0.0.1:8080"

// connectFlags adds the flags of a command that sends requests to a server. They are
// persistent: a group of commands adds them once for all its subcommands.
func (s *session) connectFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&s.server, "server", "",
		"URL of the server (default $TASKER_SERVER, else "+defaultServer+")")
	cmd.PersistentFlags().StringVar(&s.apiKey, "api-key", "", "API key (default $TASKER_API_KEY)")
}

// serverURL returns the server's URL: the flag, else $TASKER_SERVER, else the default.
func (s *session) serverURL() string {
	for _, v := range []string{s.server, s.getenv("TASKER_SERVER")} {
		if v != "" {
			return v
		}
	}
	return defaultServer
}

// key returns the API key: the flag, else $TASKER_API_KEY, else "".
func (s *session) key() string {
	if s.apiKey != "" {
		return s.apiKey
	}
	return s.getenv("TASKER_API_KEY")
}

// connect returns a client for the server of the command line. It sends no request: an
// unreachable server shows with the first call. An invalid URL is a usage error.
func (s *session) connect() (*tasker.Client, error) {
	client, err := remote.Dial(s.serverURL(), &remote.Options{APIKey: s.key(), UserAgent: "tasker-cli/" + s.Version})
	if err != nil {
		return nil, usageError{err}
	}
	return client, nil
}

// onServer returns the body of a command that only needs a client. The client is closed after body, and body's context
// ends with the first interrupt. An invalid URL fails before body runs.
func (s *session) onServer(
	body func(ctx context.Context, c *tasker.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, err := s.connect()
		if err != nil {
			return err
		}
		// Closing only drops idle connections, so its error does not matter.
		defer func() { _ = client.Close() }()
		return body(cmd.Context(), client, args)
	}
}

// reading is onServer for a command that shows what the server has: a text that is longer than the terminal goes
// through the pager.
func (s *session) reading(
	body func(ctx context.Context, c *tasker.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return s.paged(s.onServer(body))
}

// taskArg parses the argument that names a task. A malformed UUID is a usage error: no server
// could know it.
func taskArg(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return uuid.Nil, usagef("%q is not a task's UUID", arg)
	}
	return id, nil
}
