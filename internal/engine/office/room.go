// Package office keeps the sessions of people and the use of API keys.
package office

import "github.com/taskerhq/tasker/internal/engine/kernel"

// Room has the verbs on sessions and on keys.
type Room struct{ *kernel.Kernel }

// New makes the room a part of an engine.
func New(k *kernel.Kernel) *Room { return &Room{k} }
