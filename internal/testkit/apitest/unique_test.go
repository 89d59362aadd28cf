package apitest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

type uniqueAnswer struct {
	TaskUUID uuid.UUID           `json:"task_uuid"`
	TaskID   uuid.UUID           `json:"task_id"`
	Created  bool                `json:"created"`
	Unique   *tasker.UniqueMatch `json:"unique"`
	Error    *tasker.Error       `json:"error"`
	Detail   string              `json:"detail"`
	Errors   []tasker.Detail
}

func (a *uniqueAnswer) id() uuid.UUID {
	if a.TaskID != uuid.Nil {
		return a.TaskID
	}
	return a.TaskUUID
}

func (a *uniqueAnswer) outcome() string {
	if a.Unique == nil {
		return ""
	}
	return a.Unique.Outcome
}

// uniqueFamilies are the ways to submit a task over HTTP: path, body without the rule, and the name of its context.
var uniqueFamilies = map[string][2]string{
	"workflow": {"/v1/tasks", `{"task_type":"workflow","context":{"n":CONTEXT}RULE}`},
	"queue":    {"/api/v1/tasks", `{"task_type":"queue","parameters":{"n":CONTEXT}RULE}`},
}

// TestUniqueOverHTTP: families answer, refuse and replace alike, and one task name has one key in both.
func TestUniqueOverHTTP(t *testing.T) { onEveryStore(t, testUniqueOverHTTP) }

func testUniqueOverHTTP(t *testing.T, s *server) {
	for family, of := range uniqueFamilies {
		submit := func(context, rule string, want int) uniqueAnswer {
			t.Helper()
			var a uniqueAnswer
			body := strings.NewReplacer("CONTEXT", context, "RULE", rule).Replace(of[1])
			if status, text := s.send(t, "POST", of[0], body, &a); status != want {
				t.Fatalf("%s: %s is answered %d %s", family, body, status, text)
			}
			return a
		}
		const by = `,"unique":{"by":["/n"]}`
		first := submit("1", by, http.StatusCreated)
		again := submit("1.0", by, http.StatusOK)
		if again.id() != first.id() || again.Created || again.outcome() != "returned" || again.Unique.Rule == "" {
			t.Errorf("%s: the duplicate is answered %+v", family, again)
		}
		refused := submit("1", `,"unique":{"by":["/n"],"on_conflict":"refuse"}`, http.StatusConflict)
		if len(refused.Errors) != 1 || refused.Errors[0].Location != "/unique" ||
			!strings.Contains(refused.Errors[0].Message, first.id().String()) {
			t.Errorf("%s: the refusal is %+v", family, refused)
		}
		replaced := submit("1", `,"unique":{"by":["/n"],"on_conflict":"replace"}`, http.StatusCreated)
		if replaced.id() == first.id() || replaced.outcome() != "replaced" ||
			*replaced.Unique.ReplacedTaskUUID != first.id() {
			t.Errorf("%s: the replacement is answered %+v", family, replaced)
		}
		for rule, other := range map[string]string{by: "2", `,"unique":{"by":["/m"]}`: "1", `,"unique":{"by":["none"]}`: "1",
			"": "1", `,"namespace":"other","unique":{"by":["/n"]}`: "1"} {
			if a := submit(other, rule, http.StatusCreated); a.id() == replaced.id() || !a.Created {
				t.Errorf("%s: %s %s is answered %+v", family, other, rule, a)
			}
		}
	}
	// The key is the task type's, for any submitter.
	var mine, theirs uniqueAnswer
	s.send(t, "POST", "/v1/tasks", `{"task_type":"one","context":{"a":1},"unique":{}}`, &mine)
	s.send(t, "POST", "/api/v1/tasks", `{"task_type":"one","parameters":{"a":1},"unique":{}}`, &theirs)
	if mine.id() != theirs.id() || theirs.Created {
		t.Errorf("two families answer %+v and %+v", mine, theirs)
	}
}

// TestBadUnique: an invalid rule is refused at its place in each family, and stores nothing.
func TestBadUnique(t *testing.T) { onEveryStore(t, testBadUnique) }

func testBadUnique(t *testing.T, s *server) {
	long := `"/` + strings.Repeat("x", 300) + `"`
	many := strings.TrimSuffix(strings.Repeat(`"/x",`, 17), ",")
	rules := map[string]string{`{"by":["n"]}`: "/unique/by/0", `{"by":["/n","all"]}`: "/unique/by",
		`{"by":[` + long + `]}`: "/unique/by/0", `{"by":[` + many + `]}`: "/unique/by", `{"by":["/a~2"]}`: "/unique/by/0",
		`{"by":["/\u0000"]}`: "/unique/by/0", `{"by":["/\u001b[2J"]}`: "/unique/by/0", `{"by":[""]}`: "/unique/by/0",
		`{"by":["/n","/n"]}`: "/unique/by", `{"by":"/n"}`: "/unique/by", `{"by":[1]}`: "/unique/by/0",
		`{"period":"0s"}`: "/unique/period", `{"period":"721h"}`: "/unique/period", `{"period":"-1h"}`: "/unique/period",
		`{"period":"soon"}`: "/unique/period", `{"period":5}`: "/unique/period", `{"while":["error"]}`: "/unique/while",
		`{"while":["unsettled","complete"]}`: "/unique/while", `{"while":["pending"]}`: "/unique/while",
		`{"while":["unsettled","unsettled"]}`: "/unique/while", `{"on_conflict":"wait"}`: "/unique/on_conflict",
		`{"key":"x"}`: "/unique", `[]`: "/unique", `"all"`: "/unique", `true`: "/unique"}
	for rule, at := range rules {
		for family, of := range uniqueFamilies {
			body := strings.NewReplacer("CONTEXT", "1", "RULE", `,"unique":`+rule).Replace(of[1])
			var a uniqueAnswer
			status, text := s.send(t, "POST", of[0], body, &a)
			there := slices.ContainsFunc(a.Errors, func(d tasker.Detail) bool { return strings.HasPrefix(d.Location, at) })
			if status != http.StatusBadRequest || !there {
				t.Errorf("%s: %s is answered %d %.500s; want a problem at %s", family, rule, status, text, at)
			}
		}
	}
	s.empty(t)
}

// TestUniqueOfAnotherNamespace: a limited key learns nothing about tasks of other namespaces.
func TestUniqueOfAnotherNamespace(t *testing.T) { onEveryStore(t, testUniqueOfAnotherNamespace) }

func testUniqueOfAnotherNamespace(t *testing.T, s *server) {
	const body = `{"task_type":"one","namespace":"NAMESPACE","context":{"a":1},"unique":{"on_conflict":"refuse"}}`
	audio, video := strings.NewReplacer("NAMESPACE", "audio"), strings.NewReplacer("NAMESPACE", "video")
	if status, text := s.send(t, "POST", "/v1/tasks", audio.Replace(body), nil); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	send := s.senderOf(t, "video")
	if status, text := send(verb{"POST", "/v1/tasks", body}, video); status != http.StatusCreated {
		t.Errorf("the same in its own namespace is answered %d %s", status, text)
	}
	before := s.number(t)
	for _, there := range []string{`"a":1`, `"a":2`} {
		v := verb{"POST", "/v1/tasks", strings.Replace(body, `"a":1`, there, 1)}
		if status, text := send(v, audio); status != http.StatusForbidden {
			t.Errorf("%s in another namespace is answered %d %s", there, status, text)
		}
	}
	if after := s.number(t); after != before {
		t.Errorf("%d tasks were made", after-before)
	}
}

// TestManyDuplicates: of 10,000 duplicates in batches and concurrent requests, one is stored and all others name it;
// with replace, the last of a batch is.
func TestManyDuplicates(t *testing.T) { onEveryStore(t, testManyDuplicates) }

func testManyDuplicates(t *testing.T, s *server) {
	const many = 10_000
	const limit = 1000 // the most items of a call
	for _, policy := range []string{"return", "refuse", "replace"} {
		created, outcomes := map[uuid.UUID]bool{}, map[string]int{}
		for sent := 0; sent < many; sent += limit {
			n := min(limit, many-sent)
			tasks := make([]json.RawMessage, n)
			for i := range tasks {
				tasks[i] = fmt.Appendf(nil, `{"task_type":"batch","context":{"p":%q,"i":%d},"unique":{"by":["/p"],"on_conflict":%q}}`,
					policy, i, policy)
			}
			body, err := json.Marshal(map[string]any{"tasks": tasks})
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ Results []uniqueAnswer }
			if status, text := s.send(t, "POST", "/v1/tasks/batch", string(body), &answer); status != http.StatusOK {
				t.Fatalf("a batch is answered %d %.300s", status, text)
			}
			for _, a := range answer.Results {
				outcomes[a.outcome()]++
				if a.Created {
					created[a.id()] = true
				}
			}
		}
		batches := (many + limit - 1) / limit
		want := map[string]map[string]int{"return": {"": 1, "returned": many - 1}, "refuse": {"": 1, "refused": many - 1},
			"replace": {"": 1, "replaced": batches - 1, "superseded": many - batches}}[policy]
		if batches == 1 {
			delete(want, "replaced")
		}
		if stored := len(created); !maps.Equal(outcomes, want) || policy != "replace" && stored != 1 {
			t.Errorf("%s: %d tasks were stored, and the answers are %v, want %v", policy, stored, outcomes, want)
		}
	}
	s.duplicatesAtOnce(t, 2000, 50)
}

func (s *server) duplicatesAtOnce(t *testing.T, requests, atOnce int) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	ids, created := map[uuid.UUID]bool{}, 0
	for range atOnce {
		all.Go(func() {
			for range requests / atOnce {
				var a uniqueAnswer
				status, text := s.send(t, "POST", "/v1/tasks", `{"task_type":"many","context":{"a":1},"unique":{}}`, &a)
				mu.Lock()
				ids[a.id()] = true
				if a.Created {
					created++
				}
				if status != http.StatusOK && status != http.StatusCreated {
					t.Errorf("answered %d %s", status, text)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if created != 1 || len(ids) != 1 {
		t.Errorf("%d of the tasks at once were stored, and %d are named", created, len(ids))
	}
}
