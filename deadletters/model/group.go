package model

import "slices"

// GroupState is the state of a group.
type GroupState string

// The states of groups.
const (
	GroupOpen         GroupState = "open"
	GroupAcknowledged GroupState = "acknowledged" // somebody is working on it
	GroupResolved     GroupState = "resolved"     // a new failure opens it again, as a regression
	GroupIgnored      GroupState = "ignored"      // until a time, a count or a rate
)

// GroupStates lists the states.
var GroupStates = []GroupState{GroupOpen, GroupAcknowledged, GroupResolved, GroupIgnored}

// groupTransitions is the only table of a group's transitions. A group that is ignored again gets other bounds.
var groupTransitions = map[GroupState][]GroupState{
	GroupOpen:         {GroupAcknowledged, GroupResolved, GroupIgnored},
	GroupAcknowledged: {GroupOpen, GroupResolved, GroupIgnored},
	GroupResolved:     {GroupOpen},
	GroupIgnored:      {GroupIgnored, GroupOpen, GroupAcknowledged, GroupResolved},
}

// Next lists the states that may follow s.
func (s GroupState) Next() []GroupState { return groupTransitions[s] }

// Can reports whether a group may move from s to t.
func (s GroupState) Can(t GroupState) bool { return slices.Contains(groupTransitions[s], t) }
