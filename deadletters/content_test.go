package deadletters_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
)

// A payload survives JSON, except for the white space of a JSON payload.
func TestPayloadSurvivesJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		asJSON  bool
	}{
		"Object":       {`{"n":12345678901234567890,"a":"<&>","a":1}`, true},
		"String":       {`"text"`, true},
		"Zero":         {`0`, true},
		"Null":         {`null`, false},
		"SpacedNull":   {" null\n", false},
		"Empty":        {``, false},
		"Text":         {`not json`, false},
		"TwoValues":    {`{}{}`, false},
		"Binary":       {"\x00\xff\xfe", false},
		"InvalidUTF8":  {"\"\xff\"", false},
		"Deep":         {strings.Repeat("[", 501) + strings.Repeat("]", 501), false},
		"DeepEnough":   {strings.Repeat("[", 500) + strings.Repeat("]", 500), true},
		"Brackets":     {`"` + strings.Repeat("[", 1000) + `\"` + strings.Repeat("{", 1000) + `"`, true},
		"ANSI":         {"\x1b[2J", false},
		"EscapedSlash": {`"\\"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c0, c1 deadletters.Content
			c0.SetPayload([]byte(c.payload))
			c0.SetKey([]byte(c.payload))
			c0.Headers = []deadletters.Header{deadletters.NewHeader("h", []byte(c.payload))}
			encoded, err := json.Marshal(c0)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(encoded, &c1); err != nil {
				t.Fatalf("%v: %s", err, encoded)
			}
			if got := string(c1.PayloadBytes()); got != escaped(c.payload, c.asJSON) || len(c1.Payload) > 0 != c.asJSON {
				t.Errorf("the payload %q became %q (JSON: %v)", c.payload, got, len(c1.Payload) > 0)
			}
			if got := string(c1.KeyBytes()); got != c.payload {
				t.Errorf("the key %q became %q", c.payload, got)
			}
			if got := string(c1.Headers[0].Bytes()); got != c.payload {
				t.Errorf("the header %q became %q", c.payload, got)
			}
		})
	}
}

func escaped(payload string, isJSON bool) string {
	if !isJSON {
		return payload
	}
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(payload)
}

func TestNewReport(t *testing.T) {
	t.Parallel()
	inner := &json.SyntaxError{Offset: 3}
	r := deadletters.NewReport("orders", []byte(`{"n":1}`), fmt.Errorf("read order: %w", inner))
	if r.Origin != "orders" || string(r.Payload) != `{"n":1}` || r.Failure.Type != "json.SyntaxError" ||
		!strings.HasPrefix(r.Failure.Message, "read order: ") {
		t.Errorf("report is %+v", r)
	}
	if r := deadletters.NewReport("orders", nil, errors.New("no")); r.Failure.Type != "errors.errorString" {
		t.Errorf("type is %q", r.Failure.Type)
	}
	if r := deadletters.NewReport("orders", nil, nil); r.Failure != (deadletters.LetterFailure{}) {
		t.Errorf("a failure without an error is %+v", r.Failure)
	}
}
