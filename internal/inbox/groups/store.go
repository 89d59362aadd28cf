package groups

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	AddGroups(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// FreshGroups returns groups stored with failures whose first failure, or last burst, SaveNews has not stored yet.
	FreshGroups(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.GroupID, error)
	SaveNews(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// Group and Groups return groups, locked in the order of IDs.
	Group(ctx context.Context, tx engine.Tx, id deadletter.GroupID) (*deadletter.Group, error)
	Groups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID) (map[deadletter.GroupID]*deadletter.Group, error)
	// Merged is MergedGroups in a transaction, and HoursOf is Hours. They lock nothing.
	Merged(ctx context.Context, tx engine.Tx, into deadletter.GroupID) ([]*deadletter.Group, error)
	HoursOf(ctx context.Context, tx engine.Tx, groups []deadletter.GroupID, since task.Instant) (
		map[deadletter.GroupID][]deadletter.Hour, error)
	// ShownFailures returns failures of the groups merged into each group. It locks nothing.
	ShownFailures(ctx context.Context, tx engine.Tx, into []deadletter.GroupID) (map[deadletter.GroupID]int64, error)
	// SaveGroup stores the fields that operators and the loop change, without counts. Only FoldDeltas changes counts,
	// so that an operator and a burst of failures never wait for each other.
	SaveGroup(ctx context.Context, tx engine.Tx, g *deadletter.Group) error
	AddGroupNotes(ctx context.Context, tx engine.Tx, notes []deadletter.Note) error
	// FoldDeltas moves deltas into the counts of groups and hours. It returns the sums, one for each group, and whether
	// there are more.
	FoldDeltas(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.Delta, bool, error)
	// with its counts
	FindGroup(ctx context.Context, id deadletter.GroupID) (*deadletter.Group, error)
	// ListGroups returns a page of groups that are not merged into others. Counts and times include merged groups.
	ListGroups(ctx context.Context, f GroupFilter) ([]*deadletter.Group, error)
	MergedGroups(ctx context.Context, into deadletter.GroupID) ([]*deadletter.Group, error)
	// GroupNotes returns a thread, the latest first, below a number unless that is 0.
	GroupNotes(ctx context.Context, id deadletter.GroupID, below, limit int) ([]deadletter.Note, error)
	// Hours returns failures by the hour, the earliest first, including merged groups.
	Hours(ctx context.Context, groups []deadletter.GroupID, since task.Instant) (map[deadletter.GroupID][]deadletter.Hour,
		error)
	Resolutions(ctx context.Context, namespace string) (deadletter.Resolutions, error)
	Timed(ctx context.Context, now task.Instant, limit int) ([]deadletter.GroupID, error)
	// RulesInForce and Rules return rules in the order in which they are tried.
	RulesInForce(ctx context.Context, tx engine.Tx, namespace string) ([]*deadletter.Rule, error)
	Rules(ctx context.Context, namespace string) ([]*deadletter.Rule, error)
	// LatestRule returns the latest version of a rule, locked, even if that removed it.
	LatestRule(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Rule, error)
	// AddRule stores a version of a rule, which replaces the one before, unless it removes the rule. Conflict: the
	// version exists.
	AddRule(ctx context.Context, tx engine.Tx, r *deadletter.Rule) error
	// RuleVersions returns versions downwards from a version; 0 is the latest.
	RuleVersions(ctx context.Context, namespace, name string, from int64, limit int) ([]*deadletter.Rule, error)
	AddMove(ctx context.Context, tx engine.Tx, m *Move) error
	SaveMove(ctx context.Context, tx engine.Tx, m *Move) error
	DropMove(ctx context.Context, tx engine.Tx, id task.ID) error
	Moves(ctx context.Context, limit int) ([]*Move, error)
	// CaseMembers returns cases of a group behind an ID, by ID.
	CaseMembers(ctx context.Context, group deadletter.GroupID, after task.ID, limit int) ([]CaseMember, error)
	// MoveLetters moves letters of a group, with their occurrences, into another one, and returns the times of the
	// occurrences. MoveCases moves cases. They skip members of other groups.
	MoveLetters(ctx context.Context, tx engine.Tx, ids []task.ID, from, to deadletter.GroupID) ([]task.Instant, error)
	MoveCases(ctx context.Context, tx engine.Tx, cases []CaseMember, from, to deadletter.GroupID) ([]MovedCase, error)
	// MoveCounts changes the counts of groups and hours directly. Unlike AddDeltas it locks the groups, and Triage does
	// not see it.
	MoveCounts(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	// GroupOfRule returns a group with members that a rule made; 0 for none.
	GroupOfRule(ctx context.Context, namespace, rule string, since int64) (deadletter.GroupID, error)

	// Of other rooms.

	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	ListLetters(ctx context.Context, f letters.LetterFilter) (letters.LetterPage, error)
}
