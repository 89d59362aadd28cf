package app

import (
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/dashboard/system"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
)

// about describes this process to the dashboard, without secrets.
func about(current func() *config.Config, store backend, version string) system.About {
	cfg := current()
	out := system.About{Version: version, Since: time.Now(), Ready: (&readiness{ask: store.Ready}).within,
		Turns: store.Turns}
	if dsn, err := config.ParseDSN(cfg.DB.DSN); err == nil {
		out.Store = dsn.String()
		if dsn.Engine == "postgres" || dsn.Engine == "sqlite" {
			out.Examine = (&examination{dsn: dsn, opts: doctor.Of(cfg), now: time.Now}).report
		}
	}
	out.Settings = func() (list []system.Setting) {
		for _, s := range current().Settings() {
			list = append(list, system.Setting{Key: s.Key, Value: fmt.Sprint(s.Value), Source: s.Source})
		}
		return list
	}
	return out
}
