package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newHealth is the health check for images without shell and curl. Its routes need no API key.
func newHealth(s *session) *cobra.Command {
	var live bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server whether it is ready",
		Long: `Ask a server whether it is ready: it listens, is not stopping, and reaches its
database. --live only asks whether the process answers.

Exit code 0: it is. 5: it is not, or nothing answers.`,
		Example: `  tasker health
  tasker health --live --server http://127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			route, state := "/health/ready", "ready"
			if live {
				route, state = "/health/live", "live"
			}
			if err := s.askHealth(cmd.Context(), route, timeout); err != nil {
				return err
			}
			if s.json {
				return s.printJSON(map[string]string{"status": state})
			}
			return s.printf("%s is %s\n", s.serverURL(), state)
		},
	}
	s.connectFlags(cmd)
	cmd.Flags().BoolVar(&live, "live", false, "only ask whether the process answers")
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	return cmd
}

// askHealth returns CodeUnavailable unless the route answers 200 in time.
func (s *session) askHealth(ctx context.Context, route string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := strings.TrimSuffix(s.serverURL(), "/") + route
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return usagef("--server: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &tasker.Error{Code: tasker.CodeUnavailable, Message: "no answer: " + err.Error()}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // a partial answer suffices
	return &tasker.Error{Code: tasker.CodeUnavailable,
		Message: "GET " + url + " answers " + resp.Status + ": " + clean(strings.TrimSpace(string(body)))}
}
