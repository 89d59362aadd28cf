package app

import (
	"io"
	"log/slog"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/telemetry"
)

// newLogger returns the configured log and its level, which may change. A nil w means no log. Records have the
// trace of their context.
func newLogger(cfg config.Log, w io.Writer) (*slog.Logger, *slog.LevelVar) {
	var threshold slog.LevelVar
	threshold.Set(level(cfg))
	if w == nil {
		return slog.New(slog.DiscardHandler), &threshold
	}
	opts := &slog.HandlerOptions{Level: &threshold}
	if cfg.Format == "json" {
		return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, opts))), &threshold
	}
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, opts))), &threshold
}

// The configuration is validated, so the default cannot occur.
func level(cfg config.Log) slog.Level {
	var out slog.Level
	if err := out.UnmarshalText([]byte(cfg.Level)); err != nil {
		return slog.LevelInfo
	}
	return out
}
