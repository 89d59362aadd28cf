package app_test

import (
	"net"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
)

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	tests := []struct {
		name   string
		change func(*config.Config)
		code   tasker.Code
		text   string
	}{
		{"OpenToTheNetwork", func(c *config.Config) {
			c.Server.Listen = "0.0.0.0:0"
		}, tasker.CodeInvalid, "without API keys"},
		{"PortTaken", func(c *config.Config) {
			c.Server.Listen = taken.Addr().String()
		}, tasker.CodeUnavailable, "address already in use"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.DB.DSN = "memory:"
			cfg.Server.Listen = "127.0.0.1:0"
			tt.change(&cfg)
			err := app.Run(t.Context(), &cfg, app.Options{Ready: func(app.Node) error {
				t.Error("the server came up")
				return nil
			}})
			if tasker.ErrorCode(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}
