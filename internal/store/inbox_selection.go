package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// walk is a condition that selects the range of an index of letters. Each ? in its term is a placeholder of the next
// value.
type walk struct {
	term   string
	values []any
}

// union is a query for n walks along an index, each with its condition: of continues the arguments.
func (w *where) union(n int, of func(i int, one *where) string) string {
	walks := make([]string, n)
	for i := range walks {
		one := where{args: w.args}
		walks[i] = `SELECT * FROM (` + of(i, &one) + `) w` + strconv.Itoa(i)
		w.args = one.args
	}
	return strings.Join(walks, ` UNION ALL `)
}

// letterIndex restricts letters to those that one index finds, and returns the rest of the selection. Every index has
// states. The choice depends only on the filter, so a list always uses the same index.
func letterIndex(f deadletter.Selection, namespaces []string) (by []walk, rest deadletter.Selection) {
	if len(f.Groups) > 0 && len(f.Groups) <= maxWalks {
		for _, g := range f.Groups {
			by = append(by, walk{"l.group_id = ?", []any{int64(g)}})
		}
		f.Groups = nil // the namespace is checked: a caller can also name a group of another one
		return by, f
	}
	if len(namespaces) > maxWalks || f.Namespace == "" && f.Source == "" && f.Origin == "" && f.State == "" {
		return []walk{{term: wholeTable}}, f
	}
	source, origin := f.Source, f.Origin
	for _, n := range namespaces { // each index begins with the namespace
		switch {
		case source != "":
			by, f.Source = append(by, walk{"l.namespace = ? AND l.source = ?", []any{n, source}}), ""
		case origin != "":
			by, f.Origin = append(by, walk{"l.namespace = ? AND l.origin = ?", []any{n, origin}}), ""
		default:
			by = append(by, walk{"l.namespace = ?", []any{n}})
		}
	}
	f.Namespace = ""
	return by, f
}

// letterNamespaces returns the namespace of a selection of letters, or those with letters, from the edges of an index,
// up to maxWalks+1.
func (s SQL) letterNamespaces(ctx context.Context, f deadletter.Selection) ([]string, error) {
	if f.Namespace != "" {
		return []string{f.Namespace}, nil
	}
	const query = `WITH RECURSIVE n(name) AS (SELECT min(namespace) FROM tasker_letters
 UNION ALL SELECT (SELECT min(l.namespace) FROM tasker_letters l WHERE l.namespace > n.name) FROM n
  WHERE n.name IS NOT NULL) SELECT name FROM n WHERE name IS NOT NULL LIMIT $1`
	return collect(ctx, s, scanText, query, maxWalks+1)
}

// wholeTable is the term of a walk along the primary key. Without a state it reads every letter.
const wholeTable = "l.namespace <> ''"

const maxWalks = 40

// letterTerms adds the conditions of a selection, except its IDs and state, on the alias l. A text is sought in the
// failure's message and the beginning of the payload.
func (s SQL) letterTerms(w *where, f deadletter.Selection) {
	w.addIf(f.Namespace != "", "l.namespace = ?", f.Namespace)
	if len(f.Groups) > 0 {
		w.add("l.group_id IN " + list(w, f.Groups, groupID))
	}
	w.addIf(f.Source != "", "l.source = ?", f.Source)
	w.addIf(f.Origin != "", "l.origin = ?", f.Origin)
	w.addIf(f.Type != "", "l.error_type = ?", clean(f.Type))
	if f.Text != "" {
		// replace works in both databases, without case folding and wildcards
		text := "replace(l.error_message, ?, '') <> l.error_message"
		w.add("("+text+" OR "+s.Contains("l.head", "?")+unlessSensitive(f.Masked, "pointers")+")", clean(f.Text),
			[]byte(f.Text))
	}
	if f.HeaderName != "" {
		sought := headerStart(f.HeaderName)
		if f.HeaderValue != "" {
			sought += escapeZero(f.HeaderValue) + markEnd
		}
		w.add(s.Contains("l.headers", "?")+unlessSensitive(f.Masked && f.HeaderValue != "", "headers"), []byte(sought))
	}
	w.addIf(f.After != 0, "l.last_at >= ?", int64(f.After))
	w.addIf(f.Before != 0, "l.last_at < ?", int64(f.Before))
	w.addIf(f.FirstAfter != 0, "l.first_at >= ?", int64(f.FirstAfter))
	w.addIf(f.FirstBefore != 0, "l.first_at < ?", int64(f.FirstBefore))
	w.addIf(f.MinReplays > 0, "l.replays >= ?", f.MinReplays)
	if f.Replayed != nil {
		w.add(isOrIsNot(*f.Replayed, "l.replays > 0"))
	}
	if f.Retryable != nil {
		w.add("l.retryable = ?", flag(*f.Retryable))
	}
	if f.Parked != nil {
		w.add("l.parked = ?", flag(*f.Parked))
	}
}

func unlessSensitive(masked bool, kind string) string {
	if !masked {
		return ""
	}
	return ` AND NOT EXISTS (SELECT 1 FROM tasker_sources x WHERE x.namespace = l.namespace AND x.name = l.source` +
		` AND x.sensitive LIKE '%"` + kind + `":%')`
}

func isOrIsNot(yes bool, condition string) string {
	if yes {
		return condition
	}
	return "NOT (" + condition + ")"
}

func hasCases(f deadletter.Selection) bool {
	return f.Kind != model.KindLetter && f.Source == "" && f.Origin == "" && f.HeaderName == "" &&
		(f.State == "" || f.State == model.LetterOpen) && (f.Parked == nil || !*f.Parked)
}

// caseSelection adds the conditions of a selection that hasCases, on the alias c; false: nothing can match.
func (s SQL) caseSelection(ctx context.Context, w *where, f deadletter.Selection) (bool, error) {
	defs, restricted, err := s.definitions(ctx, engine.TaskFilter{Namespace: f.Namespace, Name: f.Template})
	if err != nil || restricted && len(defs) == 0 {
		return false, err
	}
	if restricted {
		w.add(filteredDefs(len(defs)), anys(defs)...)
	}
	if len(f.IDs) > 0 {
		w.add("c.dlq_entry_uuid IN " + s.idList(w, f.IDs))
	}
	if len(f.Groups) > 0 {
		w.add("c.group_id IN " + list(w, f.Groups, groupID))
	}
	w.addIf(f.State == model.LetterOpen, "c.resolution_status = ?", string(task.CasePending))
	w.addIf(f.Type != "", "c.error_pattern = ?", clean(f.Type))
	w.addIf(f.Text != "", "replace(c.error_message, ?, '') <> c.error_message", clean(f.Text))
	w.addIf(f.After != 0, "c.occurred_at >= ?", int64(f.After))
	w.addIf(f.Before != 0, "c.occurred_at < ?", int64(f.Before))
	w.addIf(f.FirstAfter != 0, "c.dlq_timestamp >= ?", int64(f.FirstAfter))
	w.addIf(f.FirstBefore != 0, "c.dlq_timestamp < ?", int64(f.FirstBefore))
	w.addIf(f.MinReplays > 0, "CAST(c.replays ->> 'count' AS bigint) >= ?", f.MinReplays)
	w.addIf(f.Reason != "", "c.dlq_reason = ?", string(f.Reason))
	if f.Retryable != nil {
		w.add("c.retryable = ?", flag(*f.Retryable))
	}
	// The task is looked up for each case that passed, never joined. Its metadata counts the replays of all its cases.
	w.addIf(f.TaskState != "", "(SELECT t.state FROM tasker_tasks t WHERE t.id = c.task_uuid) = ?", string(f.TaskState))
	if f.Replayed != nil {
		w.add(isOrIsNot(*f.Replayed, `coalesce((SELECT CAST(t.meta ->> 'replays' AS bigint) FROM tasker_tasks t
  WHERE t.id = c.task_uuid), 0) > 0`))
	}
	return true, nil
}

func statesOf(f deadletter.Selection) []model.LetterState {
	switch {
	case f.State == "":
		return model.LetterStates
	case slices.Contains(model.LetterStates, f.State):
		return []model.LetterState{f.State}
	}
	return nil
}

// quoted are constants as literals, for partial indexes, which an argument does not match.
func quoted[T ~string](states ...T) string {
	return "'" + strings.Join(texts(states), "', '") + "'"
}
