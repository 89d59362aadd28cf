package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of an Inbox. Package store implements it once, for every SQL database. A method with a
// transaction is part of it; the others answer from a committed state, on another connection: a store refuses them with
// the context of an open transaction (package nesting).
//
// A missing row is nil, and left out of lists and maps. A limit bounds a list or a count. The namespace "" selects all.
// Conflict: a row has another version than the one before the version to store.
//
// Locked rows stay locked until the transaction ends. The order of locks: a redrive, letters by ID, items, groups.
type Store interface {

	// AddLetters stores new letters with their first occurrences, and reports for each whether it was stored: not if a
	// letter of its source, or one before it in the list, has its identity, as its own or as an alias. It waits for
	// concurrent transactions that add the identity as an alias.
	AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error)
	// Letters returns letters whole, locked, by ID.
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// Identified returns the letters of a source, whole and locked, by own identity or alias.
	Identified(ctx context.Context, tx engine.Tx, namespace, source string, identities []string) (
		map[string]*deadletter.Letter, error)
	// Namesakes returns the newest letters of a source by message ID. It locks nothing.
	Namesakes(ctx context.Context, tx engine.Tx, namespace, source string, messageIDs []string) (map[string]task.ID, error)
	// SaveLetters stores the changeable fields except the stack: AddOccurrences stores the latest.
	SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	AddOccurrences(ctx context.Context, tx engine.Tx, occurrences []deadletter.Occurrence) error
	// AddAliases stores aliases of locked letters, before their own identities change. It skips stored ones.
	AddAliases(ctx context.Context, tx engine.Tx, aliases []deadletter.Alias) error
	// LettersToSend is Letters without stacks, of the first IDs up to size bytes of large payloads, but at least one;
	// left are the other IDs. Without a transaction nothing is locked.
	LettersToSend(ctx context.Context, tx engine.Tx, ids []task.ID, size int) (letters []*deadletter.Letter,
		left []task.ID, err error)
	// BareLetters is Letters without headers, large payloads, edits and stacks, for changes of state.
	BareLetters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// SaveStates stores the columns of a change of state: state, reason, times, redrive, replays, failed sends, parked,
	// unknown and version.
	SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	// SaveUnchanged is SaveStates for letters of the version before. ErrChanged: some have another one, and the
	// transaction must be rolled back.
	SaveUnchanged(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	// FindLetter and WholeLetters return letters whole, by ID.
	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	WholeLetters(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error)
	Occurrences(ctx context.Context, id task.ID, limit int) ([]deadletter.Occurrence, error)
	// ListLetters returns a page, the newest first, without payloads above SmallPayload, headers and stacks.
	ListLetters(ctx context.Context, f LetterFilter) (LetterPage, error)
	// LetterBytes returns the approximate size of whole letters.
	LetterBytes(ctx context.Context, ids []task.ID) (map[task.ID]int, error)
	OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error)
	OldestLetters(ctx context.Context, f QueueFilter) ([]task.ID, error)
	DueLetters(ctx context.Context, until task.Instant, limit int) ([]task.ID, error)
	SelectCases(ctx context.Context, sel deadletter.Selection, limit int) (ids []task.ID, more bool, err error)
	PurgeLetters(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)

	// Letters by origin, of any source.

	// Topics returns sorted origins, and EventTypes types of events, with a few index look-ups each.
	Topics(ctx context.Context, namespace string, limit int) ([]string, error)
	EventTypes(ctx context.Context, namespace string, limit int) ([]string, error)
	// CountTopic counts letters by state, each up to limit.
	CountTopic(ctx context.Context, f TopicFilter, limit int) (map[model.LetterState]int, error)
	// SampleTopic adds up the newest letters: up to sample of each state.
	SampleTopic(ctx context.Context, f TopicFilter, sample int) (TopicSample, error)
	// TopicLetters returns letters as ListLetters does.
	TopicLetters(ctx context.Context, f TopicFilter, skip, limit int) ([]*deadletter.Letter, error)
	LettersNamed(ctx context.Context, namespace, messageID string, limit int) ([]task.ID, error)

	// Sends, turns and journals. A turn shows a stalled process that another one has taken over.

	// AddSends stores sends, and replaces those with their numbers. SaveSends stores the changeable fields.
	AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	// SaveDelivered is SaveSends for sends in flight under their turns. ErrChanged: some are not, and the transaction
	// must be rolled back.
	SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error
	// SendsOf returns sends, locked, by owner and number.
	SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) ([]deadletter.Send, error)
	AnySends(ctx context.Context, tx engine.Tx, namespace, source string, contents []SentContent) (
		map[SentContent]int, error)
	// OpenSends returns sends of a content that no death has consumed, the latest first, locked.
	OpenSends(ctx context.Context, tx engine.Tx, namespace, source string, of SentContent, limit int) (
		[]deadletter.Send, error)
	// TakeTurn begins a turn of a loop, which ends the one before. HasTurn reports whether a turn is the latest; it
	// stays so until the transaction ends.
	TakeTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) error
	HasTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) (bool, error)
	// DueSends returns due sends, and those in flight since before orphans, whose process has ended.
	DueSends(ctx context.Context, kind deadletter.SendKind, now, orphans task.Instant, limit int) ([]deadletter.Send,
		error)
	// CountFailures counts waiting failures, and returns the time of the oldest; 0 for none.
	CountFailures(ctx context.Context, limit int) (n int, oldest task.Instant, err error)
	// locked
	Journal(ctx context.Context, tx engine.Tx, namespace, source string) ([]byte, error)
	SaveJournal(ctx context.Context, tx engine.Tx, namespace, source string, journal []byte) error

	engine.GroupRows
	AddGroups(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// AddDeltas adds changes of counts. Deltas never conflict with each other.
	AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
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
	// Regroup puts cases without a group into theirs, and returns their number: cases of older databases, and those
	// opened by SQL. by applies the rules to fingerprints.
	Regroup(ctx context.Context, tx engine.Tx, limit int, by PrintFunc) (int, error)
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

	// AddRedrive stores a redrive. Freeze stores its items, in the same transaction.
	AddRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	// Freeze stores the items that a redrive's selection selects now, the earliest death first, and returns their
	// number. task.TooLarge: more than limit.
	Freeze(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, limit int) (int, error)
	// locked
	Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error)
	SaveRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	SaveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error
	DecidedItems(ctx context.Context, tx engine.Tx, id task.ID, wave int) (int, error)
	// FindRedrive omits the counts of CountItems.
	FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	ListRedrives(ctx context.Context, f RedriveFilter) ([]*deadletter.Redrive, error)
	// ActiveRedrives returns redrives that are running, observing or sending items; the oldest first, behind an ID.
	ActiveRedrives(ctx context.Context, behind task.ID, limit int) ([]*deadletter.Redrive, error)
	// ListItems returns items of a redrive above a number; state "" selects all.
	ListItems(ctx context.Context, id task.ID, state model.ItemState, above, limit int) ([]deadletter.Item, error)
	ItemOf(ctx context.Context, tx engine.Tx, redrive, of task.ID) (*deadletter.Item, error)
	// SentCases returns items of sent cases by redrive and number, behind an item; with a wave only those of that wave
	// of the item's redrive.
	SentCases(ctx context.Context, behind deadletter.Item, wave, limit int) ([]CaseItem, error)
	// WaveOutcome counts the items of a wave by state, without uncertain ones, and returned ones by group.
	WaveOutcome(ctx context.Context, id task.ID, wave int) (deadletter.Outcome, error)
	// WaveTroubled reports whether an item of a wave came back, or could not be sent. It reads only items that came
	// back, failed or were skipped.
	WaveTroubled(ctx context.Context, id task.ID, wave int) (bool, error)
	// CountItems counts the items of a redrive, as FindRedrive returned it, by state.
	CountItems(ctx context.Context, r *deadletter.Redrive) (model.ItemCounts, error)
	CountWaves(ctx context.Context, id task.ID, above int) ([]model.RedriveWave, error)

	// Sources, and the right to read one.

	SaveSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	DropSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	// Source locks nothing: SaveSource and DropSource notice concurrent changes.
	Source(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Source, error)
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
	// TakeSource gives a node the right to read a source until a time, and reports success: not while another node has
	// it, nor for a missing source.
	TakeSource(ctx context.Context, tx engine.Tx, namespace, name, node string, now, until task.Instant) (bool, error)
	// MarkSource stores since when and why a source cannot be read; 0 if it can. It reports a change: a lost source
	// keeps its time.
	MarkSource(ctx context.Context, tx engine.Tx, namespace, name string, lost task.Instant, why string) (bool, error)

	// Messages left on their brokers because they are too large, by source and position.

	// SaveOversized records messages; a known one keeps its FirstAt.
	SaveOversized(ctx context.Context, tx engine.Tx, namespace, source string, list []deadletter.Oversized) error
	Oversized(ctx context.Context, namespace, source string) ([]deadletter.Oversized, error)
	// DropOversized forgets messages by position, and ForgetOversized all of a source.
	DropOversized(ctx context.Context, tx engine.Tx, namespace, source string, positions []string) error
	ForgetOversized(ctx context.Context, tx engine.Tx, namespace, source string) error

	SavePolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	DropPolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	// Policy returns the policy of exactly this origin; "" is the whole source. It locks nothing.
	Policy(ctx context.Context, tx engine.Tx, namespace, source, origin string) (*deadletter.Policy, error)
	Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error)

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

	AddEvents(ctx context.Context, tx engine.Tx, events []deadletter.Event) error
	// WaitingEvents returns events without deliveries, the oldest first. EventsSubmitted marks them.
	WaitingEvents(ctx context.Context, limit int) ([]deadletter.Event, error)
	EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error
	FindEvent(ctx context.Context, id task.ID) (*deadletter.Event, error)
	PurgeEvents(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error)

	AddReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	SaveReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	// Replay returns a replay, locked: unlike a redrive, after letters and groups.
	Replay(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Replay, error)
	FindReplay(ctx context.Context, id task.ID) (*deadletter.Replay, error)
	// the newest first, and the oldest first
	ListReplays(ctx context.Context, f ReplayFilter) ([]*deadletter.Replay, error)
	RunningReplays(ctx context.Context, limit int) ([]*deadletter.Replay, error)
	OpenReplays(ctx context.Context, tx engine.Tx, namespace string) (int, error)
	PurgeReplays(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)

	// EndedRedrives returns redrives that ended until a time, the earliest end first, behind one; without those with a
	// task that is still watched.
	EndedRedrives(ctx context.Context, behind EndedRedrive, before task.Instant, limit int) ([]EndedRedrive, error)
	// PurgeRedrive deletes items of a redrive and, after the last, the redrive. It returns the number of rows, and
	// whether the redrive is gone.
	PurgeRedrive(ctx context.Context, tx engine.Tx, id task.ID, limit int) (n int, gone bool, err error)
	// EmptyGroups returns groups behind an ID that have no letters and no cases, are part of no merge and no split
	// under way, and last failed by a time; marked ones only when their time has come.
	EmptyGroups(ctx context.Context, now, failed task.Instant, behind deadletter.GroupID, limit int) (
		[]deadletter.GroupID, error)
	// PurgeGroups marks groups to be deleted at a time (next), and deletes marked ones that are still empty and whose
	// time has come, with notes and hours. It returns their number. AddTally, AddGroups and SaveGroup remove the mark.
	PurgeGroups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID, now, next task.Instant) (int, error)
}
