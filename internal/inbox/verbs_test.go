package inbox_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/inbox"
)

// verbs are those of the rooms, in their order. A name that two rooms have would be promoted from neither.
const verbs = `
	Deliver Endpoints StoreEvents SubmitDeliveries TestWebhook
	ChangePolicy Declare DeclarePolicies DropPolicy DropSource PauseSource Policies SavePolicy SaveSource SensitiveOf
	SensitiveOfAll SensitiveOfLetter Source Sources
	DiscardLetter EditLetter ExplainLetter Letter Letters RestoreLetter
	AdvanceMoves ChangeGroup ChangeGroups Group Groups MergeGroups RemoveRule Rule Rules SaveRule SplitGroup TestRule
	Triage UnmergeGroup UnsplitGroup
	IntakeFailures SendDue WriteFailures
	Capture Read Report TestSource
	ActOnRedrive Advance CreateRedrive ExplainRedrive PreviewRedrive Redrive RedriveItems Redrives
	ActOnReplay AdvanceReplays CreateReplay PreviewReplay Replay Replays
	ClearQueue FindMessage FindQueue Levels OriginLevels QueueLetter QueueLetters Queues Requeue RestoreQueue
	RetryMessages TopicLetters TopicStats Topics
	Tidy`

// others are for other rooms and tests.
const others = `
	IntakeFaults Introduce MarkSource Oversized PauseFor PoliciesOf RoomForSource SensitiveHeaders SourceOf Status
	ChangeStates Edited WithMerged GroupOf
	ItemOf LockedRedrive NewBatch RecordSends SendMarked Settling TakeTurn
	CaptureAlso Identify Previewed Storing TakeIn ByBytes`

func TestVerbs(t *testing.T) {
	t.Parallel()
	want := strings.Fields(verbs + others)
	slices.Sort(want)
	of, got := reflect.TypeFor[*inbox.Inbox](), []string{}
	for i := range of.NumMethod() {
		got = append(got, of.Method(i).Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the methods of an Inbox are\n%s, want\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}
