package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

const defaultServer = "http://127.0.0.1:8080"

// connectFlags adds the flags of a command that speaks to a server.
func (s *session) connectFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&s.server, "server", "",
		"URL of the server (default $TASKER_SERVER, else "+defaultServer+")")
	cmd.PersistentFlags().StringVar(&s.apiKey, "api-key", "", "API key (default $TASKER_API_KEY)")
}

// serverURL is the flag, else the environment, else the default.
func (s *session) serverURL() string {
	for _, v := range []string{s.server, s.getenv("TASKER_SERVER")} {
		if v != "" {
			return v
		}
	}
	return defaultServer
}

// connect returns a client of the server that the command line names.
func (s *session) connect() (*tasker.Client, error) {
	key := s.apiKey
	if key == "" {
		key = s.getenv("TASKER_API_KEY")
	}
	client, err := tasker.Dial(s.serverURL(), &tasker.DialOptions{APIKey: key, UserAgent: "tasker-cli/" + s.Version})
	if err != nil {
		return nil, usageError{err}
	}
	return client, nil
}

// onServer makes the body of a command that needs a client and nothing else of
// the process.
func (s *session) onServer(
	body func(ctx context.Context, c *tasker.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, err := s.connect()
		if err != nil {
			return err
		}
		// Closing lets idle connections go; there is nothing to lose.
		defer func() { _ = client.Close() }()
		return body(cmd.Context(), client, args)
	}
}

// taskArg reads the argument that names a task.
func taskArg(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return uuid.Nil, usagef("%q is not a task's UUID", arg)
	}
	return id, nil
}
