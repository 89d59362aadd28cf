package app

import (
	"io"
	"log/slog"

	"github.com/taskerhq/tasker/internal/config"
	"github.com/taskerhq/tasker/internal/telemetry"
)

// newLogger returns the log that the configuration selects. The configuration is validated, so an unknown
// level cannot occur; it would mean info.
// A nil w means no log. Records get the trace of their context.
func newLogger(cfg config.Log, w io.Writer) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, opts)))
}
