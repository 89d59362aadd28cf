package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/model/access"
)

// newKey: keys are listed and revoked in the server's configuration.
func newKey(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Generate API keys"}
	cmd.AddCommand(newKeyGenerate(s))
	return cmd
}

// newKeyGenerate needs no server: a key is valid once its hash is in the configuration. The secret exists only in
// the output, so a lost key is replaced.
func newKeyGenerate(s *session) *cobra.Command {
	var permissions, namespaces []string
	cmd := &cobra.Command{
		Use:   "generate NAME",
		Short: "Generate an API key and its configuration entry",
		Long: `Generate a random API key. The command prints the key once and stores it nowhere;
the configuration of the server holds its hash.

Permissions:
  submit                submit tasks, report dead letters
  read                  read everything but dead letters
  operate               register templates, repair steps, cancel tasks, change groups,
                        redrive cases
  work                  use the worker protocol, report dead letters
  dead-letters:read     read groups, redrives, sources, and letters with their payloads
  dead-letters:redrive  change groups, redrive letters and cases
  dead-letters:edit     edit letters
  dead-letters:discard  discard and restore letters
  sources:admin         change sources, policies and rules
  sensitive             see sensitive values in clear text; opens no command by itself
  admin                 all of these, and webhooks

Only read, dead-letters:read and admin allow reading.`,
		Example: `  tasker key generate ci --permission submit,read
  tasker key generate video-worker --permission work --namespace video`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, p := range permissions {
				if !slices.Contains(access.Permissions(), access.Permission(p)) {
					return usagef("unknown permission %q; the permissions are %s", p, strings.Join(permissionWords(), ", "))
				}
			}
			secret, hash := access.Generate()
			key := access.Key{Name: args[0], SHA256: hash, Permissions: permissions, Namespaces: namespaces}
			if _, err := access.New([]access.Key{key}); err != nil {
				return usageError{err}
			}
			return s.printKey(secret, key)
		},
	}
	cmd.Flags().StringSliceVar(&permissions, "permission", []string{"submit", "read"},
		"permissions of the key: "+strings.Join(permissionWords(), ", "))
	cmd.Flags().StringSliceVar(&namespaces, "namespace", nil, "limit the key to this namespace; repeatable (default all)")
	return cmd
}

func permissionWords() []string {
	var words []string
	for _, p := range access.Permissions() {
		words = append(words, string(p))
	}
	return words
}

type keyEntry struct {
	Name        string   `json:"name"`
	SHA256      string   `json:"sha256"`
	Permissions []string `json:"permissions"`
	Namespaces  []string `json:"namespaces,omitempty"`
}

// printKey prints the secret and the configuration entry as YAML.
func (s *session) printKey(secret string, k access.Key) error {
	// The conversion does not compile if one type has a new field.
	entry := keyEntry(k)
	if s.json {
		return s.printJSON(map[string]any{"key": secret, "entry": entry})
	}
	line, err := document.Flow(entry)
	if err != nil {
		return err
	}
	return s.printf("Key (shown only once): %s\n\nAdd this to the configuration of the server:\n\nkeys:\n  - %s\n",
		secret, line)
}
