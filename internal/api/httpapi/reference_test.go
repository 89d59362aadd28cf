package httpapi_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/checks/reference"
)

type operation struct {
	ID, Summary, Description string
	Tags                     []string
	Responses                map[string]any
}

var needed = regexp.MustCompile(`(?:Needs|needs) (?:the permission|one of the permissions) ([^.;]+)[.;]`)

var usual = []string{"400", "401", "403", "500", "503"}

func TestReferenceOfOperations(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	httpapi.New(&fake{}, httpapi.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var doc struct {
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]operation
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	rows, all := map[string][][]string{}, 0
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op, permission := doc.Paths[path][method], "none"
			if m := needed.FindStringSubmatch(op.Description); m != nil {
				permission = m[1]
			}
			var errors []string
			for status := range op.Responses {
				if status >= "400" && !slices.Contains(usual, status) {
					errors = append(errors, status)
				}
			}
			slices.Sort(errors)
			tag := op.Tags[0]
			rows[tag] = append(rows[tag], []string{reference.Code(strings.ToUpper(method) + " " + path), op.Summary, permission,
				strings.Join(errors, ", ")})
			all++
		}
	}
	var b strings.Builder
	for _, tag := range doc.Tags {
		title := strings.ToUpper(tag.Name[:1]) + tag.Name[1:]
		fmt.Fprintf(&b, "## %s\n\n%s\n\n%s\n", title, tag.Description,
			reference.Table([]string{"Operation", "What it does", "Permission", "Errors"}, rows[tag.Name]))
		all -= len(rows[tag.Name])
	}
	if all != 0 {
		t.Errorf("%d operations have a tag that the document does not describe", all)
	}
	reference.Check(t, "http.md", b.String())
}

// TestReferenceOfEvents: the meaning of a type is the comment of its constant.
func TestReferenceOfEvents(t *testing.T) {
	t.Parallel()
	event := reflect.TypeFor[tasker.Event]()
	field, _ := event.FieldByName("Type")
	var rows [][]string
	meanings := eventComments(t)
	for name := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
		if meanings[name] == "" {
			t.Errorf("the constant of %s has no comment that says what it means", name)
		}
		rows = append(rows, []string{reference.Code(name), meanings[name]})
		delete(meanings, name)
	}
	for name := range meanings {
		t.Errorf("the enum of Event.Type lacks %s", name)
	}
	text := "## Types\n\n" + reference.Table([]string{"Type", "Meaning"}, rows)
	text += fieldTables(event, "Fields of every event", map[reflect.Type]bool{})
	reference.Check(t, "events.md", text)
}

func fieldTables(of reflect.Type, title string, done map[reflect.Type]bool) string {
	done[of] = true
	var rows [][]string
	deeper := ""
	for i := range of.NumField() {
		f := of.Field(i)
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, typ := kindOf(f.Type)
		if typ != nil {
			kind = "[" + name + "](#" + name + ")"
			if !done[typ] {
				deeper += fieldTables(typ, reference.Code(name), done)
			}
		}
		present := "always"
		if omit != "" {
			present = "if it is set"
		}
		rows = append(rows, []string{reference.Code(name), kind, present, f.Tag.Get("doc")})
	}
	return "\n## " + title + "\n\n" + reference.Table([]string{"Field", "Type", "Present", "Meaning"}, rows) + deeper
}

func kindOf(t reflect.Type) (string, reflect.Type) {
	switch {
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem())
	case t.Name() == "Time":
		return "RFC 3339 time", nil
	case t.Name() == "UUID":
		return "UUID", nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return "", t
	case reflect.Slice:
		kind, _ := kindOf(t.Elem())
		return "list of " + kind + "s", nil
	case reflect.Map:
		return "mapping", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number", nil
	default:
		return "text", nil
	}
}

func eventComments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../event.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	event := reflect.TypeFor[tasker.Event]()
	for i := range event.NumField() {
		name, _, _ := strings.Cut(event.Field(i).Tag.Get("json"), ",")
		if at := event.Field(i).Name; at != "ID" && at != "Type" && at != "At" && at != "Name" {
			words = append(words, at, reference.Code(name))
		}
	}
	inJSON := strings.NewReplacer(words...)
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Event") || len(spec.Values) != 1 {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(spec.Comment.Text()), " ")
		if text == "" { // a comment above is a sentence about the constant
			text = strings.TrimPrefix(strings.Join(strings.Fields(spec.Doc.Text()), " "), spec.Names[0].Name+" ")
			text = strings.TrimPrefix(text, "is ")
		}
		if text != "" {
			text = strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
		}
		comments[value] = inJSON.Replace(text)
		return true
	})
	return comments
}
