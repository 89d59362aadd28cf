package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/docs"
	"github.com/taskerhq/tasker/internal/cli/manual"
)

func newDocs(s *session) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Show the documentation of this version in a browser, offline",
		Long: `Serve the documentation from this program: all pages, a search, and the page of the
HTTP API. It prints the address and runs until Ctrl-C. It needs no server and no
network, and only this machine can reach it unless --listen says otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serveDocs(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "HOST:PORT; port 0 picks a free one")
	return cmd
}

func (s *session) serveDocs(ctx context.Context, listen string) error {
	pages, err := manual.Handler(docs.Files, s.Version)
	if err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	url := "http://" + ln.Addr().String()
	if s.json {
		err = s.printJSON(map[string]string{"url": url})
	} else {
		err = s.printf("The documentation is at %s/ until Ctrl-C.\n", url)
	}
	if err != nil {
		return err
	}
	if err := server.Serve(ln); ctx.Err() == nil {
		return fmt.Errorf("serve the documentation: %w", err)
	}
	return nil
}
