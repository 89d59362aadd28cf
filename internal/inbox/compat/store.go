package compat

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	WholeLetters(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error)
	// LetterBytes returns the approximate size of whole letters.
	LetterBytes(ctx context.Context, ids []task.ID) (map[task.ID]int, error)
	OldestLetters(ctx context.Context, f QueueFilter) ([]task.ID, error)
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

	// Of other rooms.

	BareLetters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	CountItems(ctx context.Context, r *deadletter.Redrive) (model.ItemCounts, error)
	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	ListItems(ctx context.Context, id task.ID, state model.ItemState, above, limit int) ([]deadletter.Item, error)
	OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error)
	Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
}
