//go:build unix

package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/cli/script"
	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestCheckpoint: a program reads an earlier checkpoint and stores its own, during the run and at its end, even
// when it is stopped.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	const put = `put() { echo "$1" > "$TASKER_CHECKPOINT_FILE.new"
mv "$TASKER_CHECKPOINT_FILE.new" "$TASKER_CHECKPOINT_FILE"; };`
	for name, tc := range map[string]struct {
		command   string
		interrupt error
		want      string // checkpoints
		status    string
	}{
		"AtTheEnd":  {command: put + `put 1; put '{"row": 2}'; exit 75`, want: `{"row":2}`, status: protocol.ResultFailed},
		"Succeeded": {command: put + `echo 5`, status: protocol.ResultCompleted},
		"NotJSON":   {command: put + `put '{"row"'; exit 75`, status: protocol.ResultFailed},
		"ToldToStop": {command: put + `trap 'put 3; exit 75' TERM; sleep 1000 & wait`, interrupt: worker.ErrDraining, want: "3",
			status: protocol.ResultReleased},
		"Directory": {command: `mkdir "$TASKER_CHECKPOINT_FILE"; exit 75`, status: protocol.ResultFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := tasktest.RunHandler(t, handler(t, tc.command, &script.Options{CheckpointInterval: time.Hour}),
				tasktest.Step{Interrupt: tc.interrupt, InterruptAfter: 300 * time.Millisecond})
			var got []string
			for _, c := range out.Checkpoints {
				got = append(got, string(c))
			}
			if strings.Join(got, " ") != tc.want || out.Status != tc.status {
				t.Errorf("status %s, stored %q; want %s, %q", out.Status, got, tc.status, tc.want)
			}
		})
	}
	t.Run("WhileItRuns", func(t *testing.T) {
		t.Parallel()
		// A success stores nothing at its end. A second is a hundred looks.
		h := handler(t, put+`cat > in; put 1; put 2; sleep 1; cat in`,
			&script.Options{CheckpointInterval: 10 * time.Millisecond, Dir: t.TempDir()})
		out := tasktest.RunHandler(t, h, tasktest.Step{Checkpoint: map[string]int{"row": 7}})
		var in struct{ Checkpoint struct{ Row int } }
		if err := out.Decode(&in); err != nil || in.Checkpoint.Row != 7 {
			t.Errorf("the program read the checkpoint %+v, %v", in, err)
		}
		if n := len(out.Checkpoints); n == 0 || string(out.Checkpoints[n-1]) != "2" {
			t.Errorf("stored %q", out.Checkpoints)
		}
	})
}
