package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// newVersion contacts no server; a server has `GET /version`.
func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if s.json {
				return s.printJSON(map[string]string{
					"version": s.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				})
			}
			return s.printf("%s\n", s.versionLine())
		},
	}
}

func (s *session) versionLine() string {
	return fmt.Sprintf("tasker %s (%s, %s/%s)", s.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
