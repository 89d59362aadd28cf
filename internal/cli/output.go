package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

var outputKinds = []string{"table", "json", "yaml"}

// The last of --output and --json wins.
func (s *session) outputFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.VarP((*outputKind)(s), "output", "o", "format of results: table, json or yaml")
	flags.BoolVar(&s.json, "json", false, "print results and errors as JSON, like -o json")
	offer(root, "output", outputKinds...)
}

// outputKind is the session as the value of --output.
type outputKind session

func (k *outputKind) Set(v string) error {
	if !slices.Contains(outputKinds, v) {
		return fmt.Errorf("%q is none of %s", v, strings.Join(outputKinds, ", "))
	}
	k.output, k.json = v, v != "table"
	return nil
}

func (k *outputKind) String() string { return "table" }

func (*outputKind) Type() string { return "kind" }

// textOnly marks a command without a result, so that -o json and -o yaml are refused.
func textOnly(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{"output": "text"}
	return cmd
}

// checkOutput accepts --json everywhere, because it also formats errors.
func (s *session) checkOutput(cmd *cobra.Command) error {
	fixed := cmd.Annotations["output"] == "text" || cmd.Name() == "help" || cmd.HasParent() &&
		cmd.Parent().Name() == "completion"
	if fixed && s.json && s.output != "" {
		return usagef("%s prints text, and nothing as %s: omit --output", cmd.CommandPath(), s.output)
	}
	return nil
}

// plainYAML matches strings that need no quotes, apart from yamlWords.
var plainYAML = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*( [A-Za-z_/(][A-Za-z0-9_./()-]*)*$`)

// YAML reads yamlWords as other types.
var yamlWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// toYAML keeps the order of members. It quotes strings as JSON, which YAML contains.
func toYAML(document []byte) ([]byte, error) {
	w := yamlWriter{in: json.NewDecoder(bytes.NewReader(document))}
	w.in.UseNumber()
	if err := w.value(0, atTop); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("encode result as YAML: %w", err)
	}
	return w.out.Bytes(), nil
}

type yamlWriter struct {
	in  *json.Decoder
	out bytes.Buffer
}

// place is what precedes a value.
type place int

const (
	atTop place = iota
	behindKey
	behindDash
)

// Its members or items begin at column indent.
func (w *yamlWriter) value(indent int, at place) error {
	token, err := w.in.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	switch {
	case !ok:
		w.word(at, scalarYAML(token))
		return nil
	case !w.in.More():
		w.word(at, map[json.Delim]string{'{': "{}", '[': "[]"}[open])
		_, err = w.in.Token()
		return err
	case at == behindKey, at == behindDash && open == '[':
		w.out.WriteByte('\n')
	}
	for first := true; w.in.More(); first = false {
		if first && at == behindDash && open == '{' {
			w.out.WriteByte(' ')
		} else {
			w.out.WriteString(strings.Repeat(" ", indent))
		}
		if err := w.member(indent, open); err != nil {
			return err
		}
	}
	_, err = w.in.Token()
	return err
}

func (w *yamlWriter) member(indent int, open json.Delim) error {
	if open == '[' {
		w.out.WriteByte('-')
		return w.value(indent+2, behindDash)
	}
	key, err := w.in.Token()
	if err != nil {
		return err
	}
	w.out.WriteString(scalarYAML(key) + ":")
	return w.value(indent+2, behindKey)
}

func (w *yamlWriter) word(at place, text string) {
	if at != atTop {
		w.out.WriteByte(' ')
	}
	w.out.WriteString(text + "\n")
}

func scalarYAML(token json.Token) string {
	text, ok := token.(string)
	if !ok {
		if token == nil {
			return "null"
		}
		return fmt.Sprint(token)
	}
	if plainYAML.MatchString(text) && !slices.Contains(yamlWords, strings.ToLower(text)) {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // a string always marshals
	}
	return string(cleanJSON(bytes.TrimSpace(b.Bytes())))
}
