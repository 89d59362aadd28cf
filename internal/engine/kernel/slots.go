package kernel

// unitSlot is a feature's state in each unit, made on first use: other transactions pay for a nil pointer.
type unitSlot[T any] struct {
	at  int
	new func(*Unit) *T
}

const maxSlots = 14

var slots int

// NewSlot is for variables of this package: features have their places before any engine exists.
func NewSlot[T any](make func(*Unit) *T) unitSlot[T] {
	s := unitSlot[T]{slots, make}
	if slots++; slots > maxSlots {
		panic("more features have a slot than maxSlots")
	}
	return s
}

func (s unitSlot[T]) Of(u *Unit) *T {
	if state := u.slots[s.at]; state != nil {
		return state.(*T)
	}
	state := s.new(u)
	u.slots[s.at] = state
	return state
}

func (s unitSlot[T]) Peek(u *Unit) *T {
	state, _ := u.slots[s.at].(*T)
	return state
}

func (s unitSlot[T]) Save(do func(*T) error) func(*Unit) error {
	return func(u *Unit) error {
		if state := s.Peek(u); state != nil {
			return do(state)
		}
		return nil
	}
}

func (s unitSlot[T]) After(do func(*T)) func(*Unit) {
	return func(u *Unit) {
		if state := s.Peek(u); state != nil {
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
func (k RoomKey[T]) Of(e *Kernel) *T { return e.rooms[k.at].(*T) }

// Put makes a room a part of an engine, before its first use.
func (k RoomKey[T]) Put(e *Kernel, room *T) *T {
	e.rooms[k.at] = room
	return room
}
