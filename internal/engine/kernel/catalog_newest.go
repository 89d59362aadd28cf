package kernel

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/task"
)

// newestTemplates finds the version registered last, on any node, before the submission began. A process alone with
// its store remembers it; others ask the store for the number, and concurrent callers share a query.
type newestTemplates struct {
	catalog *catalog
	numbers *coalesce.Group[TemplateName, int64] // nil: this process is alone

	// guarded by the catalog's mutex
	known map[TemplateName]*task.Template
}

// TemplateName names all versions of a template.
type TemplateName struct{ Namespace, Name string }

const askedAtOnce = 256

func newNewestTemplates(c *catalog, cluster Cluster) newestTemplates {
	n := newestTemplates{catalog: c, known: map[TemplateName]*task.Template{}}
	if cluster == nil {
		return n
	}
	n.numbers = coalesce.New(askedAtOnce, 1, func(names []TemplateName) ([]int64, error) {
		return newestOf(cluster, names)
	})
	return n
}

// newestOf accepts repeated names.
func newestOf(cluster Cluster, names []TemplateName) ([]int64, error) {
	place, distinct := make(map[TemplateName]int, len(names)), make([]TemplateName, 0, len(names))
	for _, n := range names {
		if _, repeated := place[n]; !repeated {
			place[n] = len(distinct)
			distinct = append(distinct, n)
		}
	}
	// Several callers share the query, so none of them may end it.
	found, err := cluster.NewestTemplates(context.Background(), distinct)
	if err != nil {
		return nil, fmt.Errorf("look up the newest versions of templates: %w", err)
	}
	defs := make([]int64, len(names))
	for i, n := range names {
		defs[i] = found[place[n]]
	}
	return defs, nil
}

// cached returns nil where the store must be asked.
func (n *newestTemplates) cached(ctx context.Context, name TemplateName) (*task.Template, error) {
	c := n.catalog
	if n.numbers == nil {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return n.known[name], nil
	}
	def, err := n.numbers.Do(ctx, name)
	if err != nil || def == 0 {
		return nil, err
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byDef[def], nil
}

// add keeps a newer version, because a reader may be late. The caller holds the catalog's mutex.
func (n *newestTemplates) add(t *task.Template) {
	if n.numbers != nil || t.Adhoc {
		return
	}
	name := TemplateName{t.Namespace, t.Name}
	if last := n.known[name]; last != nil && last.DefID < t.DefID {
		n.known[name] = t
	}
}

func (n *newestTemplates) read(t *task.Template) {
	if n.numbers != nil {
		return
	}
	n.catalog.mu.Lock()
	defer n.catalog.mu.Unlock()
	name := TemplateName{t.Namespace, t.Name}
	if last := n.known[name]; last == nil || last.DefID < t.DefID {
		n.known[name] = t
	}
}
