package failure_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// causes has messages of one cause in each line.
var causes = [][]string{
	{"HTTP 404", "HTTP 429", "HTTP 500", "HTTP 503"},
	{"status 404", "status 429", "status 500"},
	{"request failed with status code 404", "request failed with status code 503"},
	{"HTTP/1.1 404 Not Found", "HTTP/1.1 500 Internal Server Error"},
	{"HTTP/2 429", "HTTP/2 503"},
	{"server returned 404", "server returned 500"},
	{"upstream responded with 502", "upstream responded with 504"},
	{"GET https://api.example.com/v1/orders/7: 404", "GET https://api.example.com/v1/orders/7: 429"},
	{"POST http://10.0.0.7:8080/x: unexpected status 401 Unauthorized",
		"POST http://10.0.0.7:8080/x: unexpected status 403"},
	{"status=404", "status=500"},
	{"statusCode: 404", "statusCode: 500"},
	{`{"status": 404, "message": "no"}`, `{"status": 500, "message": "no"}`},
	{`{"error":{"code":403}}`, `{"error":{"code":429}}`},
	{"googleapi: Error 403: no", "googleapi: Error 404: no"},
	{"HTTP Error 404: gone", "HTTP Error 410: gone"},
	{"Request failed with status code 404", "Request failed with status code 500"},
	{"502 Bad Gateway", "504 Gateway Timeout", "503 Service Unavailable"},
	{"404 Client Error", "403 Client Error"},
	{"pq: bad (SQLSTATE 23505)", "pq: bad (SQLSTATE 23503)", "pq: bad (SQLSTATE 42P01)", "pq: bad (SQLSTATE 40001)"},
	{"SQLSTATE[23000]: x", "SQLSTATE[HY000]: x", "SQLSTATE[42S02]: x"},
	{"SQL state [72000]; error code [1652]", "SQL state [72000]; error code [1653]",
		"SQL state [61000]; error code [1652]"},
	{"Error 1062 (23000): x", "Error 1064 (42000): x", "Error 1062 (23001): x"},
	{"ORA-00001: x", "ORA-00942: x", "ORA-12541: x"},
	{"E11000 duplicate key error", "E11001 duplicate key error"},
	{"[Errno 2] failed", "[Errno 13] failed", "[Errno 111] failed"},
	{"errno 104", "errno 110"},
	{"failed (os error 2)", "failed (os error 13)"},
	{"[WinError 10054] closed", "[WinError 10060] closed"},
	{"exit status 1", "exit status 2", "exit status 137"},
	{"exit status -1", "exit status 1"},
	{"exited with code 3", "exited with code 126"},
	{"exited with 137", "exited with 143"},
	{"exit code: 1", "exit code: 3221225477"},
	{"killed by signal 9", "killed by signal 15"},
	{"rpc error: code = Unavailable desc = x", "rpc error: code = NotFound desc = x"},
	{"rpc error: code = 14 desc = x", "rpc error: code = 5 desc = x"},
	{"rpc error: code = Code(17) desc = x", "rpc error: code = Code(18) desc = x"},
	{"gRPC code 14", "gRPC code 4"},
	{"grpc-status: 14", "grpc-status: 4"},
	{`null value in column "email" violates not-null constraint`,
		`null value in column "name" violates not-null constraint`},
	{`column "email" does not exist`, `column "phone" does not exist`},
	{"Unknown column 'email' in 'field list'", "Unknown column 'name' in 'field list'"},
	{`duplicate key value violates unique constraint "orders_pkey"`,
		`duplicate key value violates unique constraint "users_email_key"`},
	{"Duplicate entry 'x' for key 'users.email'", "Duplicate entry 'x' for key 'users.name'"},
	{"Cannot read properties of undefined (reading 'name')", "Cannot read properties of undefined (reading 'id')"},
	{"'NoneType' object has no attribute 'id'", "'NoneType' object has no attribute 'name'"},
	{"error TS2304: no", "error TS2345: no"},
	{"npm error code E404", "npm error code E403"},
	{"connect failed { code: 'ECONNREFUSED' }", "connect failed { code: 'ETIMEDOUT' }"},
	{"hresult: 0x80070005", "hresult: 0x80070002"},
	{"json-rpc error: code: -32601", "json-rpc error: code: -32602"},
}

var same = [][]string{
	{"order 404 not found", "order 500 not found", "order 17 not found"},
	{"got 404 rows", "got 500 rows", "got 3 rows"},
	{"expected 500 rows, got 412", "expected 499 rows, got 404"},
	{"query returned 404 rows", "query returned 500 rows", "query returned 7 rows"},
	{"retry after 429 ms", "retry after 500 ms"},
	{"timeout after 500ms", "timeout after 30s", "timeout after 1m30s"},
	{"dial tcp 10.0.0.1:404: connection refused", "dial tcp 10.0.0.2:500: connection refused"},
	{"dial tcp [fe80::2%eth0]:443: refused", "dial tcp [::1]:80: refused", "dial tcp 10.0.0.1:5432: refused"},
	{"from fe80::2%eth0", "from fe80::3%wlan0.1", "from ::1"},
	{"listen [::]:8080 failed", "listen [::ffff:10.0.0.1]:81 failed"},
	{"lookup db-7.internal:5432", "lookup cache.internal:6379"},
	{"main.go:404: bad", "main.go:17: bad"},
	{"at line 404, column 17", "at line 3, column 500"},
	{"Unexpected token } in JSON at position 404", "Unexpected token } in JSON at position 1"},
	{"task 01a1fe28-4fcd-7000-a47a-b069f9c030a4 failed", "task 91a1fe28-4fcd-7000-a47a-b069f9c030a5 failed"},
	{"user 'ann' not found", "user 'bob' not found"},
	{`invalid input syntax for type integer: "12a"`, `invalid input syntax for type integer: "x"`},
	{"Duplicate entry 'ann' for key 'users.email'", "Duplicate entry 'bob-7' for key 'users.email'"},
	{`relation "events_2024_01" does not exist`, `relation "events_2025_12" does not exist`},
	{"at 2024-01-02T03:04:05Z", "at 2025-11-12T13:14:15Z"},
	{"postal code 90210 is unknown", "postal code 10115 is unknown"},
	{"voucher code 4711 has expired", "voucher code 815 has expired"},
	{"confirmation code 482913 is wrong", "confirmation code 17 is wrong"},
	{"error 5 of 10 in batch", "error 6 of 12 in batch"},
	{"errors: 17", "errors: 18"},
	{"Exit 12345678901 passed", "Exit 22345678902 passed"},
	{"3 of 404 failed", "2 of 500 failed"},
	{"HTTP request 404 of 500 took 3s", "HTTP request 17 of 18 took 9s"},
	{"HTTP 404 for https://a.example/x/1", "HTTP 404 for https://b.example/y/2"},
	{"exit status 1 after 17s", "exit status 1 after 3m"},
	{"status 503, retry 1", "status 503, retry 2"},
	{"E4711 is no order", "E4711 is no order"},
	{"header size 500", "header size 431"},
	{"response time 500", "response time 17"},
	{"message size 404 exceeds 100", "message size 500 exceeds 200"},
	{"batch status 12/500", "batch status 13/500"},
	{"code coverage 45.3% is low", "code coverage 17.1% is low"},
	{"key 'cache:17' is gone", "key 'cache:18' is gone"},
	{"error code 42 of order 17", "error code 42 of order 18"},
	{"failed in 404", "failed in 405"},
}

func printOf(message string) failure.Print {
	return failure.PrintOf(failure.Report{Type: "Error", Message: message}, "", "mail")
}

func TestCausesDiffer(t *testing.T) {
	t.Parallel()
	for _, line := range causes {
		keys, kinds := map[string]string{}, map[string]string{}
		for _, message := range line {
			p := printOf(message)
			if other, ok := keys[p.Key()]; ok {
				t.Errorf("%q and %q are one cause: %s", message, other, p.Message)
			}
			keys[p.Key()] = message
			k := failure.PrintOfKind(failure.Fingerprint(failure.Report{Message: message}), message, "", "mail")
			if other, ok := kinds[k.Key()]; ok {
				t.Errorf("as a case, %q and %q are one cause: %s", message, other, k.Message)
			}
			kinds[k.Key()] = message
		}
	}
}

func TestCausesStayTogether(t *testing.T) {
	t.Parallel()
	for _, line := range same {
		for _, message := range line[1:] {
			if a, b := printOf(line[0]), printOf(message); a.Key() != b.Key() {
				t.Errorf("%q and %q are two causes: %q and %q", line[0], message, a.Message, b.Message)
			}
			kind := func(s string) failure.Print {
				return failure.PrintOfKind(failure.Fingerprint(failure.Report{Message: s}), s, "", "mail")
			}
			if a, b := kind(line[0]), kind(message); a.Key() != b.Key() {
				t.Errorf("as cases, %q and %q are two causes: %+v and %+v", line[0], message, a, b)
			}
		}
	}
}

// A print that version 1 derives differently names the old key. A print without a code stays version 1, so its
// group stays the same.
func TestPrintOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	for _, lines := range [][][]string{causes, same} {
		for _, line := range lines {
			for _, message := range line {
				p, want := printOf(message), ""
				before := p
				before.Version, before.Message, before.Before = 1, failure.Normalise(message), ""
				if before.Key() != p.Key() {
					want = before.Key()
				}
				if p.Before != want || (p.Version == 2) != (failure.Normalise(p.Message) != p.Message) {
					t.Errorf("%q: %+v comes after %q", message, p, want)
				}
			}
		}
	}
	p := failure.PrintOfKind(`user "ann" gone`, `user "ann" gone`, "", "mail")
	if p.Type != "" || p.Version != 1 || p.Before != `v1 5:print 15:user "ann" gone 15:user <str> gone 0: 4:mail` {
		t.Errorf("%+v", p)
	}
	p = failure.PrintOfKind("panic: HTTP #", "HTTP 404", "", "")
	if p.Type != "panic" || p.Version != 2 || p.Before != "v1 5:print 13:panic: HTTP # 8:HTTP <n> 0: 0:" {
		t.Errorf("%+v", p)
	}
	if p = failure.PrintOfKind("Timeout", "Timeout", "", ""); p.Type != "Timeout" || p.Version != 1 || p.Before != "" {
		t.Errorf("%+v", p)
	}
	if p = failure.PrintOfKind("E42", "no 7 here", "", ""); p.Type != "E42" || p.Version != 1 || p.Before != "" {
		t.Errorf("%+v", p)
	}
}

func TestRuledHasNoVersion(t *testing.T) {
	t.Parallel()
	ruled := printOf("HTTP 404").Ruled("r", 1, nil, "")
	if other := printOf("no").Ruled("r", 1, nil, ""); ruled.Key() != other.Key() || ruled.Before != "" {
		t.Errorf("%q, but %q", ruled.Key(), other.Key())
	}
}

func TestPrintIsStable(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"HTTP ", "HTTP/1.1 ", "status ", "code ", "error ", "404", "17", "'x1'", `"code":`,
		"column ", "exit ", "-", "(", "[", ": ", "https://x.y/1 ", "Not Found", " ", "ORA-", "E11000", "[::1]:80", "%",
		"0x12", "SQLSTATE ", "23505", "with ", "returned ", "for key ", "'a.b'", "\"a2b\"", "key", "."})
	rapid.Check(t, func(t *rapid.T) {
		message := ""
		for _, w := range rapid.SliceOfN(words, 1, 8).Draw(t, "words") {
			message += w
		}
		once := printOf(message)
		if again := printOf(once.Message); again.Message != once.Message {
			t.Fatalf("%q became %q, then %q", message, once.Message, again.Message)
		}
		if once.Before == "" && once.Message != failure.Normalise(message) {
			t.Fatalf("%q: %q", message, once.Message)
		}
	})
}
