package doctor

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/broker/redis"
)

// Shares of maxmemory that count as short.
const memoryShort, memoryFull = 0.8, 0.95

// redisServer checks a Redis server for settings that may lose or refuse letters.
func redisServer(s redis.Server) []Check {
	if s.Unseen != nil {
		return []Check{{"redis_server", Warn, fmt.Sprintf(
			"role, memory, eviction and persistence of Redis at %s cannot be seen: %v", s.Address, s.Unseen),
			"Let the user run INFO and CONFIG GET (+info +config|get), or look with redis-cli and another user: it must be " +
				"a master with maxmemory-policy noeviction, and appendonly or save set."}}
	}
	checks := []Check{redisRole(s), redisEviction(s), redisMemory(s), redisPersistence(s)}
	for i := range checks {
		checks[i].Seen = "Redis at " + s.Address + checks[i].Seen
	}
	return checks
}

func redisRole(s redis.Server) Check {
	if s.Replica {
		return Check{"redis_role", Fail, " is a replica, which cannot be written to",
			"Name the master in the URL of the source, or Sentinels with master_set, so that a failover is followed."}
	}
	return Check{Name: "redis_role", Status: OK, Seen: " is a master, version " + s.Version}
}

func redisEviction(s redis.Server) Check {
	const name, do = "redis_eviction", "Set maxmemory-policy noeviction."
	switch {
	case s.Policy == "noeviction":
		return Check{Name: name, Status: OK, Seen: " evicts nothing"}
	case s.MaxMemory > 0:
		return Check{name, Fail, " has maxmemory-policy " + s.Policy + ": when memory is short it deletes queues, and " +
			"letters with them", do}
	}
	return Check{name, Warn, " has maxmemory-policy " + s.Policy + ": with a maxmemory it would delete queues", do}
}

func redisMemory(s redis.Server) Check {
	const name = "redis_memory"
	if s.MaxMemory == 0 {
		return Check{Name: name, Status: OK, Seen: " uses " + size(s.Used) + ", without a limit"}
	}
	seen := fmt.Sprintf(" uses %s of %s", size(s.Used), size(s.MaxMemory))
	used := float64(s.Used) / float64(s.MaxMemory)
	if used < memoryShort {
		return Check{Name: name, Status: OK, Seen: seen}
	}
	c := Check{name, Warn, seen + ": when it is full, it refuses letters that are sent back",
		"Raise maxmemory, or find what fills it (redis-cli --bigkeys)."}
	if used >= memoryFull {
		c.Status = Fail
	}
	return c
}

func redisPersistence(s redis.Server) Check {
	const name = "redis_persistence"
	const do = "Set appendonly yes; with save alone, a crash loses what came after the last snapshot."
	switch {
	case s.SaveFails || s.AOFFails:
		return Check{name, Fail, " cannot write to its disk: it refuses writes until it can", "Make room on its disk, and " +
			"read its log."}
	case s.AOF:
		return Check{Name: name, Status: OK, Seen: " writes a log (appendonly)"}
	case s.UnseenConfig != nil:
		return Check{name, Warn, fmt.Sprintf(" has no appendonly, and whether it makes snapshots cannot be seen: %v",
			s.UnseenConfig), "Let the user run CONFIG GET (+config|get), or look with another user. " + do}
	case s.Snapshots == "":
		return Check{name, Fail, " keeps nothing on disk, neither appendonly nor save: what was not captured, and what was " +
			"sent, is lost when it ends", do}
	}
	return Check{Name: name, Status: OK, Seen: " makes snapshots (save " + s.Snapshots + "), and has no appendonly"}
}
