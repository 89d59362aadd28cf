package browsertest

import (
	_ "embed" // axe-core
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/page"
)

// axeCore is axe-core 4.14.1, under the MPL 2.0: testdata/axe/LICENSE.
//
//go:embed testdata/axe/axe.min.js
var axeCore string

// Violation is a rule of accessibility that a page breaks.
type Violation struct {
	Rule    string // like "color-contrast"
	Impact  string // minor, moderate, serious or critical
	Help    string // a sentence
	Targets []string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s): %s: %s", v.Rule, v.Impact, v.Help, strings.Join(v.Targets, ", "))
}

// Violations returns the rules of axe-core that the page breaks: WCAG and the default good practice. It takes tenths of
// a second. axe-core runs in an isolated world, invisible to the page's scripts.
func (b *Tab) Violations() []Violation {
	b.t.Helper()
	frame := call(b, page.GetFrameTree, struct{}{}).FrameTree.Frame.ID
	world := call(b, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frame, WorldName: "axe"})
	ctx, cancel := b.within()
	defer cancel()
	if _, err := evaluateIn[json.RawMessage](ctx, world.ExecutionContextID, axeCore+"\n;undefined"); err != nil {
		b.fatalf("load axe-core: %v", err)
	}
	violations, err := evaluateIn[[]Violation](ctx, world.ExecutionContextID, `
		axe.run(document, {resultTypes: ['violations'], preload: false}).then(r => r.violations.map(v => ({
			Rule: v.id, Impact: v.impact, Help: v.help, Targets: v.nodes.map(n => n.target.join(' ')),
		})))`)
	if err != nil {
		b.fatalf("run axe-core: %v", err)
	}
	return violations
}
