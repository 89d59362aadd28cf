package redis

import (
	"embed"
	"fmt"

	"github.com/redis/rueidis"
)

//go:embed scripts/*.lua
var sources embed.FS

// scripts are called by checksum, and sent in full only to a server that lacks them.
type scripts struct {
	offer, claim, start, renew, find, heldBy, held, expired, remove, missing, depth, waiting, reload, loaded,
	check *rueidis.Lua
}

// loadScripts reads the embedded scripts, each behind the prelude, which defines layout and helpers. An error means a
// binary without its scripts.
func loadScripts() (*scripts, error) {
	var s scripts
	for name, into := range map[string]**rueidis.Lua{
		"offer": &s.offer, "claim": &s.claim, "start": &s.start, "renew": &s.renew, "find": &s.find, "heldby": &s.heldBy,
		"held":    &s.held,
		"expired": &s.expired, "remove": &s.remove, "missing": &s.missing, "depth": &s.depth, "waiting": &s.waiting,
		"reload": &s.reload, "loaded": &s.loaded, "check": &s.check,
	} {
		body, err := sources.ReadFile("scripts/" + name + ".lua")
		if err != nil {
			return nil, fmt.Errorf("load a script: %w", err)
		}
		prelude, err := sources.ReadFile("scripts/prelude.lua")
		if err != nil {
			return nil, fmt.Errorf("load a script: %w", err)
		}
		*into = rueidis.NewLuaScript(string(prelude) + string(body))
	}
	return &s, nil
}
