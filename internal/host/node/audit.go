package node

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/host/upkeep"
)

// sealEvery bounds an act's wait for its link while a node runs.
const sealEvery = time.Second

// sealing returns the loop that links acts into the hash chain, on one node at a time; none for a store without a
// chain.
func sealing(s engine.Database, e *engine.Engine) []upkeep.Loop {
	db, ok := s.(audit.Database)
	if !ok {
		return nil
	}
	trail := audit.New(db, e.Now, e.Config().Limits.PageBytes)
	return []upkeep.Loop{{Name: "audit_seal", Every: sealEvery, Once: trail.Seal, Polite: true}}
}
