package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// Store is all that an Inbox stores. Package store implements it once, for every SQL database. A method that takes a
// transaction is part of it; the others answer from a committed state, on another connection: a store refuses them with
// the context of an open transaction (package nesting).
//
// Locked rows stay locked until the transaction ends. Everybody locks a redrive before letters, and letters before
// items and groups; letters in the order of their IDs.
type Store interface {
	LetterRows
	OutboxRows
	QueueReader
	TopicReader
	GroupRows
	RedriveRows
	SourceRows
	OversizedRows
	PolicyRows
	RuleRows
	MoveRows
	EventRows
	ReplayRows
	TidyRows
}

// LetterRows are letters.
type LetterRows interface {
	// AddLetters stores new letters with their first occurrences. It leaves out those whose identity a letter of their
	// source has already, as its own or as an alias, or one before it in the list, and reports for each letter whether
	// it was stored. A transaction that makes an identity an alias at the same time is waited for.
	AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error)
	// Letters returns letters whole, locked, in the order of the IDs; those that do not exist are left out.
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// Identified returns the letters that deliveries of a source with one of the identities belong to, whole and locked,
	// by identity. Identities that no letter has, as its own or as an alias, are left out.
	Identified(ctx context.Context, tx engine.Tx, namespace, source string, identities []string) (
		map[string]*deadletter.Letter, error)
	// Namesakes returns the newest letters of a source by their message IDs; those that no letter has are left out. It
	// locks nothing.
	Namesakes(ctx context.Context, tx engine.Tx, namespace, source string, messageIDs []string) (map[string]task.ID, error)
	// SaveLetters stores the changeable fields of letters; AddOccurrences appends to their histories. The stack of a
	// letter is that of its latest occurrence, which AddOccurrences stores.
	SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	AddOccurrences(ctx context.Context, tx engine.Tx, occurrences []deadletter.Occurrence) error
	// AddAliases stores aliases of letters that the transaction has locked, before their own identities change. One that
	// is stored already is left out.
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
	// SaveUnchanged is SaveStates for letters that have the version before the one to store. It reports whether all have;
	// else the transaction must be rolled back.
	SaveUnchanged(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) (bool, error)
	// FindLetter returns a letter whole, or nil.
	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	// Occurrences returns the occurrences of a letter, the latest first, at most limit.
	Occurrences(ctx context.Context, id task.ID, limit int) ([]deadletter.Occurrence, error)
	// ListLetters returns a page, the newest first, without payloads above SmallPayload, headers and stacks.
	ListLetters(ctx context.Context, f LetterFilter) (LetterPage, error)
	// LetterBytes returns about how many bytes letters have whole, by ID; those that do not exist are left out.
	LetterBytes(ctx context.Context, ids []task.ID) (map[task.ID]int, error)
	// OpenLetters counts the open letters of a source, up to a limit.
	OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error)
	// DueLetters returns the IDs of up to limit scheduled letters that are due, the earliest first.
	DueLetters(ctx context.Context, until task.Instant, limit int) ([]task.ID, error)
	// SelectCases returns the IDs of up to limit pending cases that a selection selects, and whether there are more.
	SelectCases(ctx context.Context, sel deadletter.Selection, limit int) (ids []task.ID, more bool, err error)
	// PurgeLetters deletes up to limit letters whose time to be deleted has come, with their occurrences and aliases.
	PurgeLetters(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)
}

// SentContent identifies messages with nothing but their content: the hash of the payload, and the message ID, "" for
// none.
type SentContent struct{ Content, MessageID string }

// OutboxRows are sends, and what the loops that send and the readers of sources keep: turns, by which a process that
// has stalled finds out that another one has taken its turn, and journals of what a node has captured of a source whose
// broker has no positions, until it is known that the broker has the acknowledgement.
type OutboxRows interface {
	// AddSends stores sends. One whose number exists replaces it.
	AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	// SaveSends stores what changes of sends that exist.
	SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error
	// SaveDelivered is SaveSends for sends that are in flight under their turns. It reports whether all are; else the
	// transaction must be rolled back.
	SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) (bool, error)
	// DropSends removes the sends of a kind that owners have.
	DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error
	// SendsOf returns the sends of a kind that owners have, locked, in the order of the owners and numbers.
	SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) ([]deadletter.Send, error)
	// AnySends returns, of those contents that were sent from a source, how often the letter of the latest send was.
	AnySends(ctx context.Context, tx engine.Tx, namespace, source string, contents []SentContent) (
		map[SentContent]int, error)
	// OpenSends returns up to limit sends of a content that no death has consumed, the latest first, locked.
	OpenSends(ctx context.Context, tx engine.Tx, namespace, source string, of SentContent, limit int) (
		[]deadletter.Send, error)
	// TakeTurn begins a turn of a loop, which ends the one before.
	TakeTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) error
	// HasTurn reports whether a turn is the latest of its loop. It stays so until the transaction ends.
	HasTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) (bool, error)
	// DueSends returns up to limit sends of a kind that are due, and those that are in flight since a time before
	// orphans: the process that sent them has ended.
	DueSends(ctx context.Context, kind deadletter.SendKind, now, orphans task.Instant, limit int) ([]deadletter.Send,
		error)
	// CountFailures counts failures that wait, up to a limit, and returns when the oldest of these was; 0 for none.
	CountFailures(ctx context.Context, limit int) (n int, oldest task.Instant, err error)
	// Journal returns the journal of a source, locked; nil for none.
	Journal(ctx context.Context, tx engine.Tx, namespace, source string) ([]byte, error)
	SaveJournal(ctx context.Context, tx engine.Tx, namespace, source string, journal []byte) error
}

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

// QueueReader answers queries about the letters of one source, as of a queue.
type QueueReader interface {
	// OldestLetters returns the IDs of the letters that a filter selects, the oldest first.
	OldestLetters(ctx context.Context, f QueueFilter) ([]task.ID, error)
	// WholeLetters returns letters as FindLetter does, in the order of the IDs; those that do not exist are left out.
	WholeLetters(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error)
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

// TopicReader answers queries about letters by where they came from, whatever their source.
type TopicReader interface {
	// Topics returns origins of the letters of a namespace, up to limit in their order; EventTypes the types of events.
	// Either is a few looks at an index for each.
	Topics(ctx context.Context, namespace string, limit int) ([]string, error)
	EventTypes(ctx context.Context, namespace string, limit int) ([]string, error)
	// CountTopic counts the letters that a filter selects by their states, each up to limit.
	CountTopic(ctx context.Context, f TopicFilter, limit int) (map[model.LetterState]int, error)
	// SampleTopic adds up the letters that a filter selects, up to sample of each state, the newest.
	SampleTopic(ctx context.Context, f TopicFilter, sample int) (TopicSample, error)
	// TopicLetters returns letters that a filter selects, the newest first, as ListLetters does.
	TopicLetters(ctx context.Context, f TopicFilter, skip, limit int) ([]*deadletter.Letter, error)
	// LettersNamed returns the IDs of up to limit letters with a message ID, the newest first.
	LettersNamed(ctx context.Context, namespace, messageID string, limit int) ([]task.ID, error)
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

// GroupRows are groups.
type GroupRows interface {
	engine.GroupRows
	// AddGroups stores new groups; those that exist are left as they are.
	AddGroups(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// AddDeltas adds changes of the counts of groups. Deltas never conflict with each other.
	AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	// FreshGroups returns up to limit groups that were stored with failures, until SaveNews stores what was told of
	// them: when their first failure was noticed, and their last burst.
	FreshGroups(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.GroupID, error)
	SaveNews(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error
	// Group returns a group, locked, or nil.
	Group(ctx context.Context, tx engine.Tx, id deadletter.GroupID) (*deadletter.Group, error)
	// Groups returns groups, locked in the order of their IDs. Those that do not exist are left out.
	Groups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID) (map[deadletter.GroupID]*deadletter.Group, error)
	// Merged is MergedGroups in a transaction, and HoursOf is Hours. They lock nothing.
	Merged(ctx context.Context, tx engine.Tx, into deadletter.GroupID) ([]*deadletter.Group, error)
	HoursOf(ctx context.Context, tx engine.Tx, groups []deadletter.GroupID, since task.Instant) (
		map[deadletter.GroupID][]deadletter.Hour, error)
	// ShownFailures returns the failures of the groups that are merged into each of some groups; those without are left
	// out. It locks nothing.
	ShownFailures(ctx context.Context, tx engine.Tx, into []deadletter.GroupID) (map[deadletter.GroupID]int64, error)
	// SaveGroup stores the fields of a group that operators and the loop change, except its counts. Counts are changed
	// by FoldDeltas alone, so that an operator and a burst of failures never wait for each other.
	SaveGroup(ctx context.Context, tx engine.Tx, g *deadletter.Group) error
	// AddGroupNotes appends to the threads of groups; it numbers the notes.
	AddGroupNotes(ctx context.Context, tx engine.Tx, notes []deadletter.Note) error
	// FoldDeltas removes up to limit deltas and adds them to the counts of their groups and hours. It returns the sums,
	// one for each group, and whether there are more.
	FoldDeltas(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.Delta, bool, error)
	// Regroup puts up to limit cases that are in no group into theirs, and returns how many: cases of older databases,
	// and those that were opened by SQL. by applies the rules to their fingerprints.
	Regroup(ctx context.Context, tx engine.Tx, limit int, by PrintFunc) (int, error)
	// FindGroup returns a group with its counts, or nil.
	FindGroup(ctx context.Context, id deadletter.GroupID) (*deadletter.Group, error)
	// ListGroups returns a page of groups that are not merged into others. Their counts and times include those of the
	// groups that are merged into them.
	ListGroups(ctx context.Context, f GroupFilter) ([]*deadletter.Group, error)
	// MergedGroups returns the groups that are merged into one.
	MergedGroups(ctx context.Context, into deadletter.GroupID) ([]*deadletter.Group, error)
	// GroupNotes returns the thread of a group, the latest first, below a number if that is not 0.
	GroupNotes(ctx context.Context, id deadletter.GroupID, below, limit int) ([]deadletter.Note, error)
	// Hours returns the failures by the hour, since a time, the earliest first: of groups with those that are merged into
	// them. Those of a merged group are under the ID of the group that shows it.
	Hours(ctx context.Context, groups []deadletter.GroupID, since task.Instant) (map[deadletter.GroupID][]deadletter.Hour,
		error)
	// Resolutions adds up how often the groups of a namespace, or of all (""), were resolved.
	Resolutions(ctx context.Context, namespace string) (deadletter.Resolutions, error)
	// Timed returns ignored groups whose time is up.
	Timed(ctx context.Context, now task.Instant, limit int) ([]deadletter.GroupID, error)
}

// GroupFilter selects a page of groups. Zero fields do not restrict.
type GroupFilter struct {
	Namespace string
	State     model.GroupState
	Owner     string
	Where     string // handler or source
	Text      string // a literal part of the title
	// OpenOnly selects groups with open letters or pending cases.
	OpenOnly bool
	// Order is "last" (the default: failed last first), "open" (most open items first) or "first" (newest first).
	Order string
	// After continues behind that group: its sort value and its ID.
	AfterValue int64
	After      deadletter.GroupID
	Limit      int
}

// RedriveRows are redrives.
type RedriveRows interface {
	// AddRedrive stores a redrive. Its items are stored by Freeze, in the same transaction.
	AddRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	// Freeze writes down the items that a redrive's selection selects now, the earliest death first, and returns their
	// number. It takes at most limit; one more than that fails with task.TooLarge.
	Freeze(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, limit int) (int, error)
	// Redrive returns a redrive, locked, or nil.
	Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error)
	// SaveRedrive stores the fields that change: state, wave, progress, version.
	SaveRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error
	// SaveItems stores the results of items that exist.
	SaveItems(ctx context.Context, tx engine.Tx, items []deadletter.Item) error
	// DecidedItems counts the items of a wave that have a result.
	DecidedItems(ctx context.Context, tx engine.Tx, id task.ID, wave int) (int, error)
	// FindRedrive returns a redrive, or nil. CountItems has its counts.
	FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	// ListRedrives returns a page, the newest first.
	ListRedrives(ctx context.Context, f RedriveFilter) ([]*deadletter.Redrive, error)
	// ActiveRedrives returns up to limit redrives that are running or observing, or of which items are being sent; the
	// oldest first, behind one of an ID.
	ActiveRedrives(ctx context.Context, behind task.ID, limit int) ([]*deadletter.Redrive, error)
	// ListItems returns items of a redrive above a number, up to limit; only those in a state unless it is "".
	ListItems(ctx context.Context, id task.ID, state model.ItemState, above, limit int) ([]deadletter.Item, error)
	// ItemOf returns the item under which a letter or a case was sent, or nil.
	ItemOf(ctx context.Context, tx engine.Tx, redrive, of task.ID) (*deadletter.Item, error)
	// SentCases returns up to limit items of cases that were sent, in the order of their redrives and numbers, behind one
	// item; with a wave only those of that wave of the item's redrive.
	SentCases(ctx context.Context, behind deadletter.Item, wave, limit int) ([]CaseItem, error)
	// WaveOutcome counts how the items of a wave stand, and those that came back by their groups; it does not count those
	// that are uncertain.
	WaveOutcome(ctx context.Context, id task.ID, wave int) (deadletter.Outcome, error)
	// WaveTroubled reports whether an item of a wave came back, or could not be sent. It looks only at items that
	// came back, failed or were skipped.
	WaveTroubled(ctx context.Context, id task.ID, wave int) (bool, error)
	// CountItems counts the items of a redrive, as FindRedrive returned it, by their states.
	CountItems(ctx context.Context, r *deadletter.Redrive) (model.ItemCounts, error)
	// CountWaves counts the items of the waves above a number, by wave.
	CountWaves(ctx context.Context, id task.ID, above int) ([]model.RedriveWave, error)
}

// RedriveFilter selects a page of redrives. Zero fields do not restrict.
type RedriveFilter struct {
	Namespace string
	States    []model.RedriveState
	// Exclusive; zero starts at the newest.
	Below task.ID
	Limit int
}

// SourceRows are sources, by namespace and name, and the right to read one.
type SourceRows interface {
	// SaveSource inserts a source of version 1, or changes one of one version less. Conflict when it has another one.
	SaveSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	// DropSource removes a source; its letters stay. Conflict when it has another version.
	DropSource(ctx context.Context, tx engine.Tx, s *deadletter.Source) error
	// Source returns a source, or nil. It locks nothing: SaveSource and DropSource notice another one's change.
	Source(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Source, error)
	// FindSource returns a source, or nil; Sources those of a namespace, or all ("").
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
	// TakeSource gives a node the right to read a source until a time, and reports whether it has it: not while another
	// node has it, nor when there is no such source.
	TakeSource(ctx context.Context, tx engine.Tx, namespace, name, node string, now, until task.Instant) (bool, error)
	// MarkSource stores since when a source cannot be read, and why; 0 when it can be. It reports whether that changes
	// anything: a source that is lost already stays lost since then.
	MarkSource(ctx context.Context, tx engine.Tx, namespace, name string, lost task.Instant, why string) (bool, error)
}

// MaxOversized bounds the messages of a source that are recorded as too large.
const MaxOversized = 1000

// OversizedRows are messages that stay on their brokers because they are too large, by source and position.
type OversizedRows interface {
	// SaveOversized records messages; one that is known keeps its FirstAt.
	SaveOversized(ctx context.Context, tx engine.Tx, namespace, source string, list []deadletter.Oversized) error
	// Oversized returns those of a source, up to MaxOversized, the first seen first.
	Oversized(ctx context.Context, namespace, source string) ([]deadletter.Oversized, error)
	// DropOversized forgets messages by their positions, and ForgetOversized all of a source.
	DropOversized(ctx context.Context, tx engine.Tx, namespace, source string, positions []string) error
	ForgetOversized(ctx context.Context, tx engine.Tx, namespace, source string) error
}

// PolicyRows are policies, by namespace, source and origin.
type PolicyRows interface {
	// SavePolicy inserts a policy of version 1, or changes one of one version less. Conflict when it has another one.
	SavePolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	// DropPolicy removes a policy. Conflict when it has another version.
	DropPolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error
	// Policy returns the policy of exactly this origin, or nil; "" is the one of the whole source. It locks nothing.
	Policy(ctx context.Context, tx engine.Tx, namespace, source, origin string) (*deadletter.Policy, error)
	// Policies returns those of a namespace, or all ("").
	Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error)
}

// PrintFunc returns the fingerprint of a failure by the rules of a namespace, from its fingerprint without rules.
type PrintFunc func(namespace string, print failure.Print, facts func() deadletter.Facts) (failure.Print, error)

// RuleRows are rules.
type RuleRows interface {
	// RulesInForce returns the rules of a namespace that are in force, in the order in which they are tried.
	RulesInForce(ctx context.Context, tx engine.Tx, namespace string) ([]*deadletter.Rule, error)
	// LatestRule returns the latest version of a rule, locked, also one that removed the rule; or nil.
	LatestRule(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Rule, error)
	// AddRule stores a version of a rule, which is in force from then on in place of the one before, unless it removes
	// the rule. Conflict: that version exists.
	AddRule(ctx context.Context, tx engine.Tx, r *deadletter.Rule) error
	// Rules returns the rules of a namespace that are in force, or of all (""), in the order in which they are tried.
	Rules(ctx context.Context, namespace string) ([]*deadletter.Rule, error)
	// RuleVersions returns up to limit versions of a rule from a version downwards; 0 begins at the latest.
	RuleVersions(ctx context.Context, namespace, name string, from int64, limit int) ([]*deadletter.Rule, error)
	// CaseMembers returns up to limit cases of a group behind an ID, in the order of their IDs.
	CaseMembers(ctx context.Context, group deadletter.GroupID, after task.ID, limit int) ([]CaseMember, error)
}

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

// MoveRows move members between groups.
type MoveRows interface {
	AddMove(ctx context.Context, tx engine.Tx, m *Move) error
	SaveMove(ctx context.Context, tx engine.Tx, m *Move) error
	DropMove(ctx context.Context, tx engine.Tx, id task.ID) error
	// Moves returns up to limit moves that are not done, the oldest first.
	Moves(ctx context.Context, limit int) ([]*Move, error)
	// MoveLetters puts letters of a group, with their occurrences in it, into another one. It leaves out those that are
	// not in the group, and returns the times of the occurrences.
	MoveLetters(ctx context.Context, tx engine.Tx, ids []task.ID, from, to deadletter.GroupID) ([]task.Instant, error)
	// MoveCases puts cases of a group into another one. It leaves out those that are not in the group.
	MoveCases(ctx context.Context, tx engine.Tx, cases []CaseMember, from, to deadletter.GroupID) ([]MovedCase, error)
	// MoveCounts changes the counts of groups and hours at once. Unlike AddDeltas it locks the rows of the groups, and
	// is no news to Triage.
	MoveCounts(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	// GroupOfRule returns a group that has members and was made by a rule; 0 for none.
	GroupOfRule(ctx context.Context, namespace, rule string, since int64) (deadletter.GroupID, error)
}

// EventRows are events that webhooks are to receive.
type EventRows interface {
	// AddEvents stores events. They have IDs.
	AddEvents(ctx context.Context, tx engine.Tx, events []deadletter.Event) error
	// WaitingEvents returns up to limit events of which no delivery was submitted, the oldest first.
	WaitingEvents(ctx context.Context, limit int) ([]deadletter.Event, error)
	// EventsSubmitted records that the deliveries of events are submitted.
	EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error
	// FindEvent returns an event, or nil.
	FindEvent(ctx context.Context, id task.ID) (*deadletter.Event, error)
	// PurgeEvents deletes up to limit events from before a time, and returns how many.
	PurgeEvents(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error)
}

// ReplayRows are replays of topics.
type ReplayRows interface {
	// AddReplay stores a replay, and SaveReplay what changes of it: state, version, progress, and when it is deleted.
	AddReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	SaveReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	// Replay returns a replay, locked, or nil. Unlike a redrive it is locked after letters and groups.
	Replay(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Replay, error)
	// FindReplay returns a replay, or nil. ListReplays returns a page, the newest first.
	FindReplay(ctx context.Context, id task.ID) (*deadletter.Replay, error)
	ListReplays(ctx context.Context, f ReplayFilter) ([]*deadletter.Replay, error)
	// RunningReplays returns up to limit replays that run, the oldest first.
	RunningReplays(ctx context.Context, limit int) ([]*deadletter.Replay, error)
	// OpenReplays counts the replays of a namespace that have not ended.
	OpenReplays(ctx context.Context, tx engine.Tx, namespace string) (int, error)
	// PurgeReplays deletes up to limit replays whose time to be deleted has come, and returns how many.
	PurgeReplays(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)
}

// ReplayFilter selects a page of replays. Zero fields do not restrict.
type ReplayFilter struct {
	Namespace string
	Below     task.ID // exclusive; zero starts at the newest
	Limit     int
}

// EndedRedrive is a redrive that has ended, and when.
type EndedRedrive struct {
	ID task.ID
	At task.Instant
}

// TidyRows delete what is no longer needed.
type TidyRows interface {
	// EndedRedrives returns up to limit redrives that ended until a time, those that ended first before, behind one of
	// them; not those of which the task of a case is still watched.
	EndedRedrives(ctx context.Context, behind EndedRedrive, before task.Instant, limit int) ([]EndedRedrive, error)
	// PurgeRedrive deletes up to limit items of a redrive and, when none are left, the redrive itself. It returns the
	// number of rows, and whether the redrive is gone.
	PurgeRedrive(ctx context.Context, tx engine.Tx, id task.ID, limit int) (n int, gone bool, err error)
	// EmptyGroups returns up to limit groups behind an ID that have no letters and no cases, are part of no merge and no
	// split under way, and have failed last at a time or before; those that are marked only when their time has come.
	EmptyGroups(ctx context.Context, now, failed task.Instant, behind deadletter.GroupID, limit int) (
		[]deadletter.GroupID, error)
	// PurgeGroups marks groups to be deleted at a time (next), and deletes those that are marked, that are still empty,
	// and whose time has come, with their notes and hours. It returns how many. AddTally, AddGroups and SaveGroup take
	// the mark away.
	PurgeGroups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID, now, next task.Instant) (int, error)
}
