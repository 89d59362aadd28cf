package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is all that an Inbox stores. Package store implements it once, for every SQL database. A method that takes a
// transaction is part of it; the others answer from a committed state, on another connection: a store refuses them with
// the context of an open transaction (package nesting).
//
// A row that does not exist is nil, and left out of lists and maps. A limit bounds a list or a count. The namespace ""
// selects all. Conflict: a row has another version than the one before the version to store.
//
// Locked rows stay locked until the transaction ends. Everybody locks a redrive before letters, and letters before
// items and groups; letters in the order of their IDs.
type Store interface {
	// Letters.

	// AddLetters stores new letters with their first occurrences. It leaves out those whose identity a letter of their
	// source has already, as its own or as an alias, or one before it in the list, and reports for each letter whether
	// it was stored. It waits for a transaction that makes an identity an alias at the same time.
	AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error)
	// Letters returns letters whole, locked, in the order of the IDs.
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// Identified returns the letters of a source, whole and locked, by the identities that they have as their own or as
	// an alias.
	Identified(ctx context.Context, tx engine.Tx, namespace, source string, identities []string) (
		map[string]*deadletter.Letter, error)
	// Namesakes returns the newest letters of a source by their message IDs. It locks nothing.
	Namesakes(ctx context.Context, tx engine.Tx, namespace, source string, messageIDs []string) (map[string]task.ID, error)
	// SaveLetters stores the changeable fields of letters, except the stack: AddOccurrences stores that of the latest.
	SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	AddOccurrences(ctx context.Context, tx engine.Tx, occurrences []deadletter.Occurrence) error
	// AddAliases stores aliases of letters that the transaction has locked, before their own identities change. It leaves
	// out those that are stored.
	AddAliases(ctx context.Context, tx engine.Tx, aliases []deadletter.Alias) error
	// LettersToSend is Letters without stacks: the first of the IDs, up to size bytes of large payloads, but at
	// least one. left are the IDs from the first one on that does not fit. Without a transaction nothing is locked.
	LettersToSend(ctx context.Context, tx engine.Tx, ids []task.ID, size int) (letters []*deadletter.Letter,
		left []task.ID, err error)
	// BareLetters is Letters without headers, large payloads, edits and stacks: for changes of state.
	BareLetters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// SaveStates stores the columns that a change of state may touch: state, reason, times, redrive, replays, failed
	// sends, parked, unknown and version.
	SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	// SaveUnchanged is SaveStates for letters that have the version before the one to store. ErrChanged: not all have, and
	// the transaction must be rolled back.
	SaveUnchanged(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	// FindLetter and WholeLetters return letters whole, in the order of the IDs.
	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	WholeLetters(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error)
	// Occurrences begins with the latest.
	Occurrences(ctx context.Context, id task.ID, limit int) ([]deadletter.Occurrence, error)
	// ListLetters returns a page, the newest first, without payloads above SmallPayload, headers and stacks.
	ListLetters(ctx context.Context, f LetterFilter) (LetterPage, error)
	// LetterBytes returns about how many bytes letters have whole.
	LetterBytes(ctx context.Context, ids []task.ID) (map[task.ID]int, error)
	OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error)
	// OldestLetters begins with the oldest.
	OldestLetters(ctx context.Context, f QueueFilter) ([]task.ID, error)
	// DueLetters returns scheduled letters that are due, the earliest first.
	DueLetters(ctx context.Context, until task.Instant, limit int) ([]task.ID, error)
	// SelectCases returns pending cases, and whether there are more.
	SelectCases(ctx context.Context, sel deadletter.Selection, limit int) (ids []task.ID, more bool, err error)
	// PurgeLetters deletes letters whose time to be deleted has come, with their occurrences and aliases.
	PurgeLetters(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)

	// Letters by where they came from, whatever their source.

	// Topics returns the origins of letters in their order, and EventTypes the types of events, with a few looks at an
	// index for each.
	Topics(ctx context.Context, namespace string, limit int) ([]string, error)
	EventTypes(ctx context.Context, namespace string, limit int) ([]string, error)
	// CountTopic counts letters by their states, each up to limit.
	CountTopic(ctx context.Context, f TopicFilter, limit int) (map[model.LetterState]int, error)
	// SampleTopic adds up letters: up to sample of each state, the newest.
	SampleTopic(ctx context.Context, f TopicFilter, sample int) (TopicSample, error)
	// TopicLetters returns letters as ListLetters does.
	TopicLetters(ctx context.Context, f TopicFilter, skip, limit int) ([]*deadletter.Letter, error)
	// LettersNamed returns letters with a message ID, the newest first.
	LettersNamed(ctx context.Context, namespace, messageID string, limit int) ([]task.ID, error)

	// Sends, turns and journals. By its turn a process that has stalled finds out that another one has taken over.

	// AddSends stores sends, also in place of those with their numbers. SaveSends stores what changes of a send.
	AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	// SaveDelivered is SaveSends for sends that are in flight under their turns. ErrChanged: not all are, and the
	// transaction must be rolled back.
	SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error
	// SendsOf returns sends, locked, in the order of the owners and numbers.
	SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) ([]deadletter.Send, error)
	// AnySends returns, of those contents that were sent from a source, how often the letter of the latest send was.
	AnySends(ctx context.Context, tx engine.Tx, namespace, source string, contents []SentContent) (
		map[SentContent]int, error)
	// OpenSends returns sends of a content that no death has consumed, the latest first, locked.
	OpenSends(ctx context.Context, tx engine.Tx, namespace, source string, of SentContent, limit int) (
		[]deadletter.Send, error)
	// TakeTurn begins a turn of a loop, which ends the one before. HasTurn reports whether a turn is the latest of its
	// loop; it stays so until the transaction ends.
	TakeTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) error
	HasTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) (bool, error)
	// DueSends returns sends that are due, and those that are in flight since before orphans: their process has ended.
	DueSends(ctx context.Context, kind deadletter.SendKind, now, orphans task.Instant, limit int) ([]deadletter.Send,
		error)
	// CountFailures counts failures that wait, and returns when the oldest of these was; 0 for none.
	CountFailures(ctx context.Context, limit int) (n int, oldest task.Instant, err error)
	// Journal returns the journal of a source, locked.
	Journal(ctx context.Context, tx engine.Tx, namespace, source string) ([]byte, error)
	SaveJournal(ctx context.Context, tx engine.Tx, namespace, source string, journal []byte) error

	// Groups.

	engine.GroupRows
	// AddGroups stores new groups; those that exist stay as they are.
	AddGroups(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// AddDeltas adds changes of the counts of groups. Deltas never conflict with each other.
	AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	// FreshGroups returns groups that were stored with failures, until SaveNews stores when their first failure was
	// noticed, and their last burst.
	FreshGroups(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.GroupID, error)
	SaveNews(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// Group and Groups return groups, locked in the order of their IDs.
	Group(ctx context.Context, tx engine.Tx, id deadletter.GroupID) (*deadletter.Group, error)
	Groups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID) (map[deadletter.GroupID]*deadletter.Group, error)
	// Merged is MergedGroups in a transaction, and HoursOf is Hours. They lock nothing.
	Merged(ctx context.Context, tx engine.Tx, into deadletter.GroupID) ([]*deadletter.Group, error)
	HoursOf(ctx context.Context, tx engine.Tx, groups []deadletter.GroupID, since task.Instant) (
		map[deadletter.GroupID][]deadletter.Hour, error)
	// ShownFailures returns the failures of the groups that are merged into each of some groups. It locks nothing.
	ShownFailures(ctx context.Context, tx engine.Tx, into []deadletter.GroupID) (map[deadletter.GroupID]int64, error)
	// SaveGroup stores the fields of a group that operators and the loop change, except its counts. FoldDeltas alone
	// changes counts, so that an operator and a burst of failures never wait for each other.
	SaveGroup(ctx context.Context, tx engine.Tx, g *deadletter.Group) error
	// AddGroupNotes appends to the threads of groups; it numbers the notes.
	AddGroupNotes(ctx context.Context, tx engine.Tx, notes []deadletter.Note) error
	// FoldDeltas removes deltas and adds them to the counts of their groups and hours. It returns the sums, one for each
	// group, and whether there are more.
	FoldDeltas(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.Delta, bool, error)
	// Regroup puts cases that are in no group into theirs, and returns how many: cases of older databases, and those that
	// were opened by SQL. by applies the rules to their fingerprints.
	Regroup(ctx context.Context, tx engine.Tx, limit int, by PrintFunc) (int, error)
	// FindGroup returns a group with its counts.
	FindGroup(ctx context.Context, id deadletter.GroupID) (*deadletter.Group, error)
	// ListGroups returns a page of groups that are not merged into others. Their counts and times include those of the
	// groups that are merged into them.
	ListGroups(ctx context.Context, f GroupFilter) ([]*deadletter.Group, error)
	MergedGroups(ctx context.Context, into deadletter.GroupID) ([]*deadletter.Group, error)
	// GroupNotes returns the thread of a group, the latest first, below a number if that is not 0.
	GroupNotes(ctx context.Context, id deadletter.GroupID, below, limit int) ([]deadletter.Note, error)
	// Hours returns the failures by the hour, the earliest first: of groups with those that are merged into them.
	Hours(ctx context.Context, groups []deadletter.GroupID, since task.Instant) (map[deadletter.GroupID][]deadletter.Hour,
		error)
	// Resolutions adds up how often the groups of a namespace were resolved.
	Resolutions(ctx context.Context, namespace string) (deadletter.Resolutions, error)
	// Timed returns ignored groups whose time is up.
	Timed(ctx context.Context, now task.Instant, limit int) ([]deadletter.GroupID, error)

	// Redrives.

	// AddRedrive stores a redrive. Freeze stores its items, in the same transaction.
	AddRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	// Freeze writes down the items that a redrive's selection selects now, the earliest death first, and returns their
	// number. More than limit fail with task.TooLarge.
	Freeze(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, limit int) (int, error)
	// Redrive returns a redrive, locked.
	Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error)
	// SaveRedrive stores the fields that change: state, wave, progress, version.
	SaveRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	// SaveItems stores the results of items that exist.
	SaveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error
	// DecidedItems counts the items of a wave that have a result.
	DecidedItems(ctx context.Context, tx engine.Tx, id task.ID, wave int) (int, error)
	// FindRedrive returns a redrive without the counts that CountItems has.
	FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	// ListRedrives returns a page, the newest first.
	ListRedrives(ctx context.Context, f RedriveFilter) ([]*deadletter.Redrive, error)
	// ActiveRedrives returns redrives that are running or observing, or of which items are being sent; the oldest first,
	// behind an ID.
	ActiveRedrives(ctx context.Context, behind task.ID, limit int) ([]*deadletter.Redrive, error)
	// ListItems returns items of a redrive above a number; only those in a state unless it is "".
	ListItems(ctx context.Context, id task.ID, state model.ItemState, above, limit int) ([]deadletter.Item, error)
	// ItemOf returns the item under which a letter or a case was sent.
	ItemOf(ctx context.Context, tx engine.Tx, redrive, of task.ID) (*deadletter.Item, error)
	// SentCases returns items of cases that were sent, in the order of their redrives and numbers, behind one item; with
	// a wave only those of that wave of the item's redrive.
	SentCases(ctx context.Context, behind deadletter.Item, wave, limit int) ([]CaseItem, error)
	// WaveOutcome counts how the items of a wave stand, except those that are uncertain, and those that came back by
	// their groups.
	WaveOutcome(ctx context.Context, id task.ID, wave int) (deadletter.Outcome, error)
	// WaveTroubled reports whether an item of a wave came back, or could not be sent. It looks only at items that
	// came back, failed or were skipped.
	WaveTroubled(ctx context.Context, id task.ID, wave int) (bool, error)
	// CountItems counts the items of a redrive, as FindRedrive returned it, by their states.
	CountItems(ctx context.Context, r *deadletter.Redrive) (model.ItemCounts, error)
	// CountWaves counts the items of the waves above a number.
	CountWaves(ctx context.Context, id task.ID, above int) ([]model.RedriveWave, error)

	// Sources, and the right to read one.

	SaveSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	// DropSource removes a source; its letters stay.
	DropSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	// Source locks nothing: SaveSource and DropSource notice another one's change.
	Source(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Source, error)
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
	// TakeSource gives a node the right to read a source until a time, and reports whether it has it: not while another
	// node has it, nor when there is no such source.
	TakeSource(ctx context.Context, tx engine.Tx, namespace, name, node string, now, until task.Instant) (bool, error)
	// MarkSource stores since when a source cannot be read, and why; 0 when it can be. It reports whether that changes
	// anything: a source that is lost already stays lost since then.
	MarkSource(ctx context.Context, tx engine.Tx, namespace, name string, lost task.Instant, why string) (bool, error)

	// Messages that stay on their brokers because they are too large, by source and position.

	// SaveOversized records messages; one that is known keeps its FirstAt.
	SaveOversized(ctx context.Context, tx engine.Tx, namespace, source string, list []deadletter.Oversized) error
	// Oversized returns up to MaxOversized, the first seen first.
	Oversized(ctx context.Context, namespace, source string) ([]deadletter.Oversized, error)
	// DropOversized forgets messages by their positions, and ForgetOversized all of a source.
	DropOversized(ctx context.Context, tx engine.Tx, namespace, source string, positions []string) error
	ForgetOversized(ctx context.Context, tx engine.Tx, namespace, source string) error

	// Policies.

	SavePolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	DropPolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	// Policy returns the policy of exactly this origin; "" is the one of the whole source. It locks nothing.
	Policy(ctx context.Context, tx engine.Tx, namespace, source, origin string) (*deadletter.Policy, error)
	Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error)

	// Rules.

	// RulesInForce and Rules return rules that are in force, in the order in which they are tried.
	RulesInForce(ctx context.Context, tx engine.Tx, namespace string) ([]*deadletter.Rule, error)
	Rules(ctx context.Context, namespace string) ([]*deadletter.Rule, error)
	// LatestRule returns the latest version of a rule, locked, also one that removed the rule.
	LatestRule(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Rule, error)
	// AddRule stores a version of a rule, which replaces the one before, unless it removes the rule. Conflict: that
	// version exists.
	AddRule(ctx context.Context, tx engine.Tx, r *deadletter.Rule) error
	// RuleVersions returns versions of a rule from a version downwards; 0 begins at the latest.
	RuleVersions(ctx context.Context, namespace, name string, from int64, limit int) ([]*deadletter.Rule, error)

	// Moves of members between groups.

	AddMove(ctx context.Context, tx engine.Tx, m *Move) error
	SaveMove(ctx context.Context, tx engine.Tx, m *Move) error
	DropMove(ctx context.Context, tx engine.Tx, id task.ID) error
	// Moves returns moves that are not done, the oldest first.
	Moves(ctx context.Context, limit int) ([]*Move, error)
	// CaseMembers returns cases of a group behind an ID, in the order of their IDs.
	CaseMembers(ctx context.Context, group deadletter.GroupID, after task.ID, limit int) ([]CaseMember, error)
	// MoveLetters puts letters of a group, with their occurrences in it, into another one, and returns the times of the
	// occurrences. MoveCases does so with cases. They leave out those that are not in the group.
	MoveLetters(ctx context.Context, tx engine.Tx, ids []task.ID, from, to deadletter.GroupID) ([]task.Instant, error)
	MoveCases(ctx context.Context, tx engine.Tx, cases []CaseMember, from, to deadletter.GroupID) ([]MovedCase, error)
	// MoveCounts changes the counts of groups and hours at once. Unlike AddDeltas it locks the rows of the groups, and
	// is no news to Triage.
	MoveCounts(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	// GroupOfRule returns a group that has members and was made by a rule; 0 for none.
	GroupOfRule(ctx context.Context, namespace, rule string, since int64) (deadletter.GroupID, error)

	// Events that webhooks receive.

	// AddEvents stores events, which have IDs.
	AddEvents(ctx context.Context, tx engine.Tx, events []deadletter.Event) error
	// WaitingEvents returns events without deliveries, the oldest first. EventsSubmitted records that they have them.
	WaitingEvents(ctx context.Context, limit int) ([]deadletter.Event, error)
	EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error
	FindEvent(ctx context.Context, id task.ID) (*deadletter.Event, error)
	PurgeEvents(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error)

	// Replays of topics.

	// AddReplay stores a replay, and SaveReplay what changes of it: state, version, progress, and when it is deleted.
	AddReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	SaveReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	// Replay returns a replay, locked. Unlike a redrive it is locked after letters and groups.
	Replay(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Replay, error)
	FindReplay(ctx context.Context, id task.ID) (*deadletter.Replay, error)
	// ListReplays begins with the newest, RunningReplays with the oldest.
	ListReplays(ctx context.Context, f ReplayFilter) ([]*deadletter.Replay, error)
	RunningReplays(ctx context.Context, limit int) ([]*deadletter.Replay, error)
	// OpenReplays counts the replays of a namespace that have not ended.
	OpenReplays(ctx context.Context, tx engine.Tx, namespace string) (int, error)
	// PurgeReplays deletes replays whose time to be deleted has come, and returns how many.
	PurgeReplays(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)

	// Rows that are no longer needed.

	// EndedRedrives returns redrives that ended until a time, those that ended first before, behind one of them; not
	// those of which the task of a case is still watched.
	EndedRedrives(ctx context.Context, behind EndedRedrive, before task.Instant, limit int) ([]EndedRedrive, error)
	// PurgeRedrive deletes items of a redrive and, when none are left, the redrive itself. It returns the number of rows,
	// and whether the redrive is gone.
	PurgeRedrive(ctx context.Context, tx engine.Tx, id task.ID, limit int) (n int, gone bool, err error)
	// EmptyGroups returns groups behind an ID that have no letters and no cases, are part of no merge and no split under
	// way, and have failed last at a time or before; those that are marked only when their time has come.
	EmptyGroups(ctx context.Context, now, failed task.Instant, behind deadletter.GroupID, limit int) (
		[]deadletter.GroupID, error)
	// PurgeGroups marks groups to be deleted at a time (next), and deletes those that are marked, that are still empty,
	// and whose time has come, with their notes and hours. It returns how many. AddTally, AddGroups and SaveGroup take
	// the mark away.
	PurgeGroups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID, now, next task.Instant) (int, error)
}

// SentContent identifies messages with nothing but their content: the hash of the payload, and the message ID, "" for
// none.
type SentContent struct{ Content, MessageID string }

// SmallPayload is the number of bytes of a payload that a list shows.
const SmallPayload = 1024

// LetterFilter selects a page of letters.
type LetterFilter struct {
	deadletter.Selection
	Below task.ID // exclusive; zero starts at the newest
	Limit int
}

// LetterPage is a page of letters.
type LetterPage struct {
	Letters []*deadletter.Letter
	// Next is where the next page begins; zero at the end. A page may have fewer letters than its limit, or none, and a
	// next one all the same: a search in texts looks through a bounded number of letters at a time.
	Next task.ID
}

// QueueFilter selects letters of one source. A letter is as old as its ID: from when it was captured first.
type QueueFilter struct {
	Namespace, Source string
	States            []model.LetterState // at least one
	// Zero fields do not restrict.
	Parked *bool
	Reason string       // how the reason begins
	At     task.Instant // when it entered its state
	Above  task.ID      // exclusive
	// Skip leaves out the first ones. Time grows with Skip and Limit.
	Skip, Limit int
}

// TopicFilter selects letters of a namespace. Zero fields do not restrict.
type TopicFilter struct {
	Namespace string
	Origin    *string
	EventType string
	States    []model.LetterState // empty: all
}

// TopicSample are sums over some letters.
type TopicSample struct {
	N                  int
	Replays, MaxReplay int64
	FirstAt, LastAt    task.Instant // when the first of them died first, and the last one last; the oldest letter counts too
	FirstSum           int64        // sum of FirstAt, in seconds
	NewestFirstAt      task.Instant // greatest FirstAt
}

// GroupFilter selects a page of groups. Zero fields do not restrict.
type GroupFilter struct {
	Namespace string
	State     model.GroupState
	Owner     string
	Where     string // handler or source
	Text      string // a literal part of the title
	OpenOnly  bool   // only groups with open letters or pending cases
	// Order is "last" (the default: failed last first), "open" (most open items first) or "first" (newest first).
	Order string
	// After continues behind that group: its sort value and its ID.
	AfterValue int64
	After      deadletter.GroupID
	Limit      int
}

// RedriveFilter selects a page of redrives. Zero fields do not restrict.
type RedriveFilter struct {
	Namespace string
	States    []model.RedriveState
	Below     task.ID // exclusive; zero starts at the newest
	Limit     int
}

// ReplayFilter selects a page of replays. Zero fields do not restrict.
type ReplayFilter struct {
	Namespace string
	Below     task.ID // exclusive; zero starts at the newest
	Limit     int
}

// MaxOversized bounds the messages of a source that are recorded as too large.
const MaxOversized = 1000

// PrintFunc returns the fingerprint of a failure by the rules of a namespace, from its fingerprint without rules.
type PrintFunc func(namespace string, print failure.Print, facts func() deadletter.Facts) (failure.Print, error)

// CaseMember is a case of a group, as rules see it.
type CaseMember struct {
	ID, Task task.ID
	Facts    deadletter.Facts
}

// Move is a split of a group that is being carried out, or undone: its members are moved batch by batch.
type Move struct {
	ID        task.ID
	Namespace string
	Group     deadletter.GroupID // that is split
	Rule      string
	Since     int64 // see deadletter.Rule
	Undo      bool
	Begun     task.Instant
	// AfterLetter and AfterCase are how far a split is; an undone one has no need of them.
	AfterLetter, AfterCase task.ID
}

// MovedCase is a case that was moved: when it failed last, and whether it is pending.
type MovedCase struct {
	At      task.Instant
	Pending bool
}

// EndedRedrive is a redrive that has ended, and when.
type EndedRedrive struct {
	ID task.ID
	At task.Instant
}
