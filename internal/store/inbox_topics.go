package store

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// One index look-up for each origin, however many letters it has.
func (s letterRows) Topics(ctx context.Context, namespace string, limit int) ([]string, error) {
	const query = `WITH RECURSIVE t (v) AS (SELECT min(origin) FROM tasker_letters WHERE namespace = $1
  UNION ALL SELECT (SELECT min(origin) FROM tasker_letters WHERE namespace = $1 AND origin > t.v) FROM t
   WHERE t.v IS NOT NULL)
 SELECT v FROM t WHERE v IS NOT NULL LIMIT $2`
	return collect(ctx, s, scanText, query, namespace, limit)
}

func (s letterRows) EventTypes(ctx context.Context, namespace string, limit int) ([]string, error) {
	const query = `WITH RECURSIVE t (v) AS (SELECT min(event_type) FROM tasker_letters
   WHERE namespace = $1 AND event_type <> ''
  UNION ALL SELECT (SELECT min(event_type) FROM tasker_letters
   WHERE namespace = $1 AND event_type <> '' AND event_type > t.v) FROM t WHERE t.v IS NOT NULL)
 SELECT v FROM t WHERE v IS NOT NULL LIMIT $2`
	return collect(ctx, s, scanText, query, namespace, limit)
}

func scanText(row Row) (string, error) {
	var v Text
	err := row.Scan(&v)
	return string(v), err
}

// topicWalk returns the condition of a walk along one index: all letters of a filter in one state. With an origin and a
// type, it uses the index of types and compares origins.
func topicWalk(f compat.TopicFilter, state model.LetterState, args []any) where {
	w := where{args: args}
	w.add("l.namespace = ?", f.Namespace)
	if f.EventType != "" {
		w.add("l.event_type <> ''")
		w.add("l.event_type = ?", f.EventType)
	}
	if f.Origin != nil {
		w.add("l.origin = ?", *f.Origin)
	}
	w.add("l.state = " + quoted(state)) // a constant: the planner must recognise a rare state
	return w
}

func topicStates(f compat.TopicFilter) []model.LetterState {
	if len(f.States) == 0 {
		return model.LetterStates
	}
	return f.States
}

func (s letterRows) CountTopic(ctx context.Context, f compat.TopicFilter, limit int) (
	map[model.LetterState]int, error,
) {
	out := map[model.LetterState]int{}
	for _, state := range topicStates(f) {
		w := topicWalk(f, state, nil)
		query := `SELECT count(*) FROM (SELECT 1 FROM tasker_letters l` + w.text() + ` LIMIT ` + w.arg(limit) + `) q`
		n, err := first(ctx, s, scanInt, query, w.args...)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out[state] = int(n)
		}
	}
	return out, nil
}

func (s letterRows) SampleTopic(ctx context.Context, f compat.TopicFilter, sample int) (compat.TopicSample, error) {
	var out compat.TopicSample
	for _, state := range topicStates(f) {
		w := topicWalk(f, state, nil)
		terms := w.text()
		query := `SELECT count(*), CAST(coalesce(sum(replays), 0) AS bigint), coalesce(max(replays), 0), coalesce(min(first_at), 0),
  coalesce(max(last_at), 0), coalesce(max(first_at), 0), CAST(coalesce(sum(first_at / 1000000), 0) AS bigint),
  coalesce((SELECT l.first_at FROM tasker_letters l` + terms + ` ORDER BY l.letter_id LIMIT 1), 0)
 FROM (SELECT l.replays, l.first_at, l.last_at FROM tasker_letters l` + terms + ` ORDER BY l.letter_id DESC LIMIT ` +
			w.arg(sample) + `) q`
		var part compat.TopicSample
		var oldest task.Instant
		err := s.Query(ctx, query, w.args, func(row Row) error {
			return row.Scan(&part.N, &part.Replays, &part.MaxReplay, &part.FirstAt, &part.LastAt, &part.NewestFirstAt,
				&part.FirstSum, &oldest)
		})
		if err != nil {
			return out, err
		}
		if part.N == 0 {
			continue
		}
		if oldest > 0 {
			part.FirstAt = min(part.FirstAt, oldest)
		}
		if out.N == 0 || part.FirstAt < out.FirstAt {
			out.FirstAt = part.FirstAt
		}
		out.N += part.N
		out.Replays += part.Replays
		out.MaxReplay = max(out.MaxReplay, part.MaxReplay)
		out.LastAt, out.NewestFirstAt = max(out.LastAt, part.LastAt), max(out.NewestFirstAt, part.NewestFirstAt)
		out.FirstSum += part.FirstSum
	}
	return out, nil
}

// Each state is one walk.
func (s letterRows) TopicLetters(ctx context.Context, f compat.TopicFilter, skip, limit int) ([]*deadletter.Letter,
	error,
) {
	w, states := where{}, topicStates(f)
	walks := w.union(len(states), func(i int, one *where) string {
		*one = topicWalk(f, states[i], one.args)
		return `SELECT l.letter_id FROM tasker_letters l` + one.text() + ` ORDER BY l.letter_id DESC LIMIT ` +
			one.arg(skip+limit)
	})
	ids, err := collect(ctx, s, s.scanID, `SELECT letter_id FROM (`+walks+`) q ORDER BY letter_id DESC LIMIT `+
		w.arg(limit)+` OFFSET `+w.arg(skip), w.args...)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, ids)
}

func (s letterRows) LettersNamed(ctx context.Context, namespace, messageID string, limit int) ([]task.ID, error) {
	const query = `SELECT letter_id FROM tasker_letters WHERE namespace = $1 AND message_id <> '' AND message_id = $2
 ORDER BY letter_id DESC LIMIT $3`
	return collect(ctx, s, s.scanID, query, namespace, messageID, limit)
}
