package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTemplate groups the commands about templates. `template validate` is one of them although it uses no server, and
// ignores the flags of the connection. Registering needs the permission operate, the others read.
func newTemplate(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "template", Short: "Validate, simulate, register and show workflow templates"}
	s.connectFlags(cmd)
	cmd.AddCommand(newTemplateValidate(s), newTemplateSimulate(s), newTemplateRegister(s), newTemplateList(s),
		newTemplateShow(s),
		newTemplateStats(s))
	return cmd
}

// templateSource reads the file of a template; - is standard input. The file name appears in
// the locations of problems.
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

// templateName splits [NAMESPACE/]NAME[@VERSION]. The namespace defaults to "default", the
// version to "", the last registered one.
func templateName(arg string) (namespace, name, version string) {
	namespace = "default"
	if ns, rest, ok := strings.Cut(arg, "/"); ok {
		namespace, arg = ns, rest
	}
	name, version, _ = strings.Cut(arg, "@")
	return namespace, name, version
}
