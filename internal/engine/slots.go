package engine

// unitSlot is the place in each unit for the state of one feature. The state is made when the feature first has
// something to remember: a transaction that has nothing to do with it pays for a nil pointer.
type unitSlot[T any] struct {
	at  int
	new func(*unit) *T
}

// maxSlots is the number of places in a unit.
const maxSlots = 12

// slots counts the places that are taken.
var slots int

// newSlot takes a place. It is for variables of this package: a feature has its place before there is an engine.
func newSlot[T any](make func(*unit) *T) unitSlot[T] {
	s := unitSlot[T]{slots, make}
	if slots++; slots > maxSlots {
		panic("more features have a slot than maxSlots")
	}
	return s
}

// of returns the state of the feature in a unit.
func (s unitSlot[T]) of(u *unit) *T {
	if state := u.slots[s.at]; state != nil {
		return state.(*T)
	}
	state := s.new(u)
	u.slots[s.at] = state
	return state
}

// peek returns the state, or nil if the feature has nothing to remember.
func (s unitSlot[T]) peek(u *unit) *T {
	state, _ := u.slots[s.at].(*T)
	return state
}

// save is a stage for units in which the feature remembers something.
func (s unitSlot[T]) save(do func(*T) error) func(*unit) error {
	return func(u *unit) error {
		if state := s.peek(u); state != nil {
			return do(state)
		}
		return nil
	}
}

// after is a followUp for such units.
func (s unitSlot[T]) after(do func(*T)) func(*unit) {
	return func(u *unit) {
		if state := s.peek(u); state != nil {
			do(state)
		}
	}
}
