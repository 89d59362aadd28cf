package store

import (
	"context"
	"maps"
	"slices"
)

// KeepSettings stores the numbers that views and functions use, so that views compute the engine's limits; see
// engine.SettingsKeeper. It does not rewrite stored numbers, so that a start costs one query. Keys are written in
// order, to avoid deadlocks of nodes that start together.
func (s SQL) KeepSettings(ctx context.Context, settings map[string]int64) error {
	kept := map[string]int64{}
	err := s.Query(ctx, `SELECT key, value FROM tasker_settings`, nil, func(row Row) error {
		var key Text
		var value int64
		if err := row.Scan(&key, &value); err != nil {
			return err
		}
		kept[string(key)] = value
		return nil
	})
	if err != nil {
		return err
	}
	const set = `INSERT INTO tasker_settings (key, value) VALUES ($1, $2) ON CONFLICT (key)
  DO UPDATE SET value = excluded.value`
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if value, ok := kept[key]; ok && value == settings[key] {
			continue
		}
		if _, err := s.Exec(ctx, set, key, settings[key]); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if _, ok := settings[key]; !ok {
			if _, err := s.Exec(ctx, `DELETE FROM tasker_settings WHERE key = $1`, key); err != nil {
				return err
			}
		}
	}
	return nil
}
