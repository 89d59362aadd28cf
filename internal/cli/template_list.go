package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTemplateList has a row per version, from pages of GET /v1/templates. --json prints a tasker.TemplatePage.
func newTemplateList(s *session) *cobra.Command {
	var filter tasker.TemplateFilter
	var all bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List templates",
		Example: `  tasker template list --namespace shop`,
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&filter.Name, "name", "", "filter by template name")
	pageFlag(cmd, &filter.Limit, 50, "templates per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	f.BoolVar(&all, "all", false, "print all pages")
	cmd.RunE = s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
		page, err := c.Templates(ctx, filter)
		if err != nil {
			return err
		}
		// Joined in memory, because --json prints one document.
		for all && page.NextCursor != "" {
			filter.Cursor = page.NextCursor
			next, err := c.Templates(ctx, filter)
			if err != nil {
				return err
			}
			next.Templates = append(page.Templates, next.Templates...)
			page = next
		}
		return answered(s, s.printTemplates)(page, nil)
	})
	return cmd
}

func (s *session) printTemplates(page *tasker.TemplatePage) error {
	t := s.newList("No templates.", "NAME", "VERSION", "REGISTERED", "DESCRIPTION")
	for i := range page.Templates {
		tpl := &page.Templates[i]
		about, _, _ := strings.Cut(strings.TrimSpace(tpl.Description), "\n")
		t.damaged(qualified(tpl.Namespace, tpl.Name)+" "+tpl.Version, tpl.Damage)
		t.row(qualified(tpl.Namespace, tpl.Name), tpl.Version, s.ago(tpl.CreatedAt), about)
	}
	return t.flushPage(page.NextCursor)
}
