package engine

// unitSlot is a feature's state in each unit, made on first use: other transactions pay for a nil pointer.
type unitSlot[T any] struct {
	at  int
	new func(*unit) *T
}

const maxSlots = 14

var slots int

// newSlot is for variables of this package: features have their places before any engine exists.
func newSlot[T any](make func(*unit) *T) unitSlot[T] {
	s := unitSlot[T]{slots, make}
	if slots++; slots > maxSlots {
		panic("more features have a slot than maxSlots")
	}
	return s
}

func (s unitSlot[T]) of(u *unit) *T {
	if state := u.slots[s.at]; state != nil {
		return state.(*T)
	}
	state := s.new(u)
	u.slots[s.at] = state
	return state
}

func (s unitSlot[T]) peek(u *unit) *T {
	state, _ := u.slots[s.at].(*T)
	return state
}

func (s unitSlot[T]) save(do func(*T) error) func(*unit) error {
	return func(u *unit) error {
		if state := s.peek(u); state != nil {
			return do(state)
		}
		return nil
	}
}

func (s unitSlot[T]) after(do func(*T)) func(*unit) {
	return func(u *unit) {
		if state := s.peek(u); state != nil {
			do(state)
		}
	}
}

// RoomKey finds a room's part of an engine, as a slot does in a unit.
type RoomKey[T any] struct{ at int }

const maxRooms = 8

var rooms int

// NewRoom is for variables of packages: rooms have their places before any engine exists.
func NewRoom[T any]() RoomKey[T] {
	k := RoomKey[T]{rooms}
	if rooms++; rooms > maxRooms {
		panic("more rooms than maxRooms")
	}
	return k
}

// Of returns the room of an engine.
func (k RoomKey[T]) Of(e *Engine) *T { return e.rooms[k.at].(*T) }

// Put makes a room a part of an engine, before its first use.
func (k RoomKey[T]) Put(e *Engine, room *T) *T {
	e.rooms[k.at] = room
	return room
}
