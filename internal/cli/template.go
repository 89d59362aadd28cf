package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTemplate: registering needs operate, the others read. `template validate` ignores the connection flags.
func newTemplate(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "template", Short: "Validate, simulate, register and show workflow templates"}
	s.connectFlags(cmd)
	cmd.AddCommand(newTemplateValidate(s), newTemplateSimulate(s), newTemplateRegister(s), newTemplateList(s),
		newTemplateShow(s), newTemplateStats(s))
	return cmd
}

// - is standard input. Problems name the file.
func (s *session) templateSource(name string) (tasker.TemplateSource, error) {
	src, err := s.readFile(name)
	if err != nil {
		return tasker.TemplateSource{}, err
	}
	if name == "-" {
		name = "stdin"
	}
	return tasker.TemplateSource{YAML: string(src), Filename: name}, nil
}

// templateName splits [NAMESPACE/]NAME[@VERSION], with the namespace "default" and the version "", the last
// registered one, by default.
func templateName(arg string) (namespace, name, version string) {
	namespace = "default"
	if ns, rest, ok := strings.Cut(arg, "/"); ok {
		namespace, arg = ns, rest
	}
	name, version, _ = strings.Cut(arg, "@")
	return namespace, name, version
}
