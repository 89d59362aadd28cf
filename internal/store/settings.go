package store

import (
	"context"
	"maps"
	"slices"
)

// KeepSettings replaces the numbers that views and functions use; see engine.SettingsKeeper. It does not write a number
// again that is already stored, so that the start of a process costs one query. The views then compute the same limits
// as the engine. Keys are written in their order, so that two nodes that start together do not wait for each other in a
// circle.
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
