package kernel

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", tokenKeySize))
	made := newTokens(key)
	lease := LeaseRef{Step: task.MakeID(7, 9), Worker: 3, Token: 2, At: 1_795_000_000_000_000}
	token := made.of(lease)
	if got := newTokens(key).read(lease.Step, lease.Worker, token); got != lease {
		t.Errorf("%s is read as %+v, want %+v", token, got, lease)
	}
	if !strings.HasPrefix(token, "2.") || len(token) > maxToken {
		t.Errorf("the token is %q", token)
	}
	longest := LeaseRef{Step: lease.Step, Worker: 1<<63 - 1, Token: 1<<63 - 1, At: 1<<63 - 1}
	if got := made.read(longest.Step, longest.Worker, made.of(longest)); got != longest {
		t.Errorf("the longest token is read as %+v", got)
	}
	for name, other := range map[string]LeaseRef{
		"Step":   {Step: task.MakeID(7, 10), Worker: 3, Token: 2, At: lease.At},
		"Worker": {Step: lease.Step, Worker: 4, Token: 2, At: lease.At},
		"Number": {Step: lease.Step, Worker: 3, Token: 3, At: lease.At},
		"Time":   {Step: lease.Step, Worker: 3, Token: 2, At: lease.At + 1},
	} {
		if made.of(other) == token {
			t.Errorf("%s: two leases have one token", name)
		}
	}
	if newTokens([]byte(strings.Repeat("j", tokenKeySize))).of(lease) == token {
		t.Error("the token does not depend on the key")
	}
	_, rest, _ := strings.Cut(token, ".")
	at, code, _ := strings.Cut(rest, ".")
	for name, shown := range map[string]string{
		"Empty": "", "NumberOnly": "2", "NoCode": "2." + at, "EmptyCode": "2." + at + ".", "CutCode": token[:len(token)-1],
		"Longer": token + "A", "Dot": token + ".",
		"OtherNumber": "3." + rest, "OtherTime": "2.1." + code, "Zero": "0." + rest, "Negative": "-2." + rest,
		"Plus": "+2." + rest, "Leading": "02." + rest,
		"UpperCase": "2." + strings.ToUpper(at) + "." + code, "Spaces": " " + token,
		"Overflow": "99999999999999999999." + rest, "Huge": strings.Repeat("9", 1<<16),
	} {
		if got := made.read(lease.Step, lease.Worker, shown); got.Token != 0 || got.At != 0 {
			t.Errorf("%s: %q is read as %+v", name, shown, got)
		}
	}
	if got := made.read(lease.Step, 4, token); got.Token != 0 {
		t.Errorf("another worker's token is read as %+v", got)
	}
}

func BenchmarkToken(b *testing.B) {
	made := newTokens(make([]byte, tokenKeySize))
	lease := LeaseRef{Step: task.MakeID(7, 9), Worker: 3, Token: 1_795_000_000_000_000}
	for b.Loop() {
		if made.read(lease.Step, lease.Worker, made.of(lease)).Token == 0 {
			b.Fatal("it is not read")
		}
	}
}
