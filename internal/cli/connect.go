package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
)

const defaultServer = "http://127.0.0.1:8080"

// connectFlags are persistent: a group adds them once for its subcommands.
func (s *session) connectFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&s.server, "server", "",
		"URL of the server (default $TASKER_SERVER, else "+defaultServer+")")
	cmd.PersistentFlags().StringVar(&s.apiKey, "api-key", "", "API key (default $TASKER_API_KEY)")
}

// serverURL returns the flag, else $TASKER_SERVER, else the default.
func (s *session) serverURL() string {
	for _, v := range []string{s.server, s.getenv("TASKER_SERVER")} {
		if v != "" {
			return v
		}
	}
	return defaultServer
}

// key returns the flag, else $TASKER_API_KEY, else "".
func (s *session) key() string {
	if s.apiKey != "" {
		return s.apiKey
	}
	return s.getenv("TASKER_API_KEY")
}

// connect sends no request: an unreachable server shows with the first call. An invalid URL is a usage error.
func (s *session) connect() (*tasker.Client, error) {
	client, err := remote.Dial(s.serverURL(), &remote.Options{APIKey: s.key(), UserAgent: "tasker-cli/" + s.Version})
	if err != nil {
		return nil, usageError{err}
	}
	return client, nil
}

// onServer runs body with a client, which it closes, and a context that ends with the first interrupt. An invalid
// URL fails before body runs.
func (s *session) onServer(body func(ctx context.Context, c *tasker.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, err := s.connect()
		if err != nil {
			return err
		}
		// Close only drops idle connections.
		defer func() { _ = client.Close() }()
		return body(cmd.Context(), client, args)
	}
}

// reading is onServer with a pager for output longer than the terminal.
func (s *session) reading(body func(ctx context.Context, c *tasker.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return s.paged(s.onServer(body))
}

// with is for commands about one object, which parse names by its ID.
func with[ID any](parse func(arg string) (ID, error), body func(context.Context, *tasker.Client, ID) error,
) func(context.Context, *tasker.Client, []string) error {
	return func(ctx context.Context, c *tasker.Client, args []string) error {
		id, err := parse(args[0])
		if err != nil {
			return err
		}
		return body(ctx, c, id)
	}
}

var (
	taskArg    = uuidArg("%q is not a task's UUID")
	caseArg    = uuidArg("%q is not a case's UUID")
	letterArg  = uuidArg("%q is not a letter's UUID")
	redriveArg = uuidArg("%q is not a redrive's UUID")
	replayArg  = uuidArg("%q is not a replay's UUID")
	outageArg  = uuidArg("%q is not the UUID of an outage: see \"tasker outage list\"")
)

// uuidArg parses UUIDs. A malformed one is a usage error.
func uuidArg(refusal string) func(arg string) (uuid.UUID, error) {
	return func(arg string) (uuid.UUID, error) {
		id, err := uuid.Parse(arg)
		if err != nil {
			return uuid.Nil, usagef(refusal, arg)
		}
		return id, nil
	}
}
