package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// evaluate returns the value of a JavaScript expression, and awaits a promise.
func evaluate[T any](b *Tab, expression string) (T, error) {
	ctx, cancel := b.within()
	defer cancel()
	return evaluateIn[T](ctx, 0, expression)
}

// evaluateIn is evaluate in a context of execution; 0 is the page's.
func evaluateIn[T any](ctx context.Context, world runtime.ExecutionContextID, expression string) (v T, err error) {
	yes := true
	r, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes, ContextID: world,
	})
	switch {
	case err != nil:
		return v, err
	case r.ExceptionDetails != nil:
		return v, errors.New(exception(r.ExceptionDetails))
	case r.Result == nil || len(r.Result.Value) == 0: // undefined
		return v, nil
	}
	if err := json.Unmarshal(r.Result.Value, &v); err != nil {
		return v, fmt.Errorf("decode %s: %w", r.Result.Value, err)
	}
	return v, nil
}

// until evaluates an expression until it is neither null nor undefined. Between two pages an expression may fail.
func until[T any](b *Tab, what, expression string) T {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		v, err := evaluate[*T](b, expression)
		if err == nil && v != nil {
			return *v
		}
		if time.Now().After(deadline) || b.ctx.Err() != nil {
			b.fatalf("%s: not within %v (%v)", what, patience, err)
		}
	}
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return string(raw)
}

// with is an expression: body, in which e is the element of a selector; null without one.
func with(css, body string) string {
	return "(() => { const e = document.querySelector(" + quote(css) + "); if (!e) return null; " + body + " })()"
}

// Eval evaluates a JavaScript expression in the page and decodes its value into out, unless that is nil. It awaits a
// promise.
func (b *Tab) Eval(expression string, out any) {
	b.t.Helper()
	raw, err := evaluate[json.RawMessage](b, expression)
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		b.fatalf("evaluate %s: %v", expression, err)
	}
}

// Click waits until an element can be clicked, scrolls to it and clicks it. An element that is hidden, disabled or
// covered cannot be clicked. It clicks again if the layout has moved the element away meanwhile. It does not wait for
// the effect.
func (b *Tab) Click(css string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); b.click(css); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.fatalf("click %s: it moves away, for %v", css, patience)
		}
	}
}

// click clicks where an element is, and reports whether the click has missed it. After a navigation nothing is known of
// the old page, and the click was what began it.
func (b *Tab) click(css string) (missed bool) {
	b.t.Helper()
	at := until[struct{ X, Y float64 }](b, "click "+css, with(css, `
		if (e.disabled) return null;
		const seen = () => {
			for (const r of e.getClientRects()) {
				const x = r.left + r.width / 2, y = r.top + r.height / 2;
				const hit = r.width && r.height && document.elementFromPoint(x, y);
				if (hit && (hit === e || e.contains(hit) || hit.closest('label')?.control === e)) return {x, y};
			}
			return null;
		};
		window.clickMissed = true;
		document.addEventListener('mousedown', ev => {
			window.clickMissed = !ev.composedPath().some(n => n === e || n.matches?.(`+quote(css)+`) || n.control === e);
		}, {capture: true, once: true});
		const at = seen();
		if (at) return at;
		e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
		return seen();`))
	b.do("click "+css, chromedp.MouseClickXY(at.X, at.Y))
	missed, err := evaluate[bool](b, "window.clickMissed === true")
	return err == nil && missed
}

// Fill waits for a field and replaces its content, like typing. In a select it chooses the option with the value. It
// fires input and change.
func (b *Tab) Fill(css, text string) {
	b.t.Helper()
	kind := until[string](b, "fill in "+css, with(css, `
		if (e.disabled || e.readOnly || !e.getClientRects().length) return null;
		e.focus();
		if (document.activeElement !== e) return null;
		if (e.tagName === 'SELECT' || /^(date|time|datetime-local|month|week|color|range)$/.test(e.type)) {
			e.value = `+quote(text)+`;
			e.dispatchEvent(new Event('input', {bubbles: true}));
			e.dispatchEvent(new Event('change', {bubbles: true}));
			return 'set';
		}
		e.select();
		return 'type';`))
	if kind == "type" {
		if text == "" {
			b.do("empty "+css, chromedp.KeyEvent(kb.Backspace))
		} else {
			call(b, input.InsertText, input.InsertTextParams{Text: text})
		}
	}
	until[bool](b, css+" has the text "+quote(text), with(css, "return e.value === "+quote(text)+" ? true : null;"))
}

// keys are the names of keys without text.
var keys = map[string]string{
	"Enter": kb.Enter, "Escape": kb.Escape, "Tab": kb.Tab, "Backspace": kb.Backspace, "Delete": kb.Delete,
	"Space": " ", "ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft,
	"ArrowRight": kb.ArrowRight, "Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
}

var modifiers = map[string]chromedp.Modifier{
	"Shift": chromedp.ModifierShift, "Control": chromedp.ModifierCtrl, "Alt": chromedp.ModifierAlt,
	"Meta": chromedp.ModifierMeta,
}

// Press presses keys in sequence: "a", "?", or a name as in KeyboardEvent.key, with modifiers in front: "Control+k",
// "Shift+Tab". The focused element gets them.
func (b *Tab) Press(names ...string) {
	b.t.Helper()
	for _, name := range names {
		var held []chromedp.Modifier
		key := name
		for {
			before, after, ok := strings.Cut(key, "+")
			modifier, known := modifiers[before]
			if !ok || !known {
				break
			}
			held, key = append(held, modifier), after
		}
		if code, ok := keys[key]; ok {
			key = code
		} else if len([]rune(key)) != 1 {
			b.t.Fatalf("browser: there is no key %q", name)
		}
		var options []chromedp.KeyOption
		if len(held) > 0 {
			options = append(options, chromedp.KeyModifiers(held...))
		}
		b.do("press "+name, chromedp.KeyEvent(key, options...))
	}
}

// Text waits for an element and returns its visible text, in one line.
func (b *Tab) Text(css string) string {
	b.t.Helper()
	return strings.Join(strings.Fields(until[string](b, "the text of "+css, with(css, "return e.innerText;"))), " ")
}

// Value waits for a field and returns its value.
func (b *Tab) Value(css string) string {
	b.t.Helper()
	return until[string](b, "the value of "+css, with(css, "return e.value;"))
}

// Attr waits for an element and returns an attribute, "" if it has none.
func (b *Tab) Attr(css, name string) string {
	b.t.Helper()
	return until[string](b, name+" of "+css, with(css, "return e.getAttribute("+quote(name)+") ?? '';"))
}

// Count returns how many elements there are now, shown or not.
func (b *Tab) Count(css string) int {
	b.t.Helper()
	return until[int](b, "count "+css, "document.querySelectorAll("+quote(css)+").length")
}

// WaitText waits until the visible text of an element contains want, regardless of white space.
func (b *Tab) WaitText(css, want string) {
	b.t.Helper()
	want = strings.Join(strings.Fields(want), " ")
	until[bool](b, css+" shows "+quote(want),
		with(css, `return e.innerText.replace(/\s+/g, ' ').includes(`+quote(want)+") ? true : null;"))
}

// WaitCount waits until there are so many elements, shown or not.
func (b *Tab) WaitCount(css string, want int) {
	b.t.Helper()
	until[bool](b, fmt.Sprintf("there are %d %s", want, css),
		fmt.Sprintf("document.querySelectorAll(%s).length === %d ? true : null", quote(css), want))
}

// WaitURL waits until the address contains some text.
func (b *Tab) WaitURL(part string) {
	b.t.Helper()
	until[bool](b, "the address contains "+part, "location.href.includes("+quote(part)+") ? true : null")
}

// WaitTrue waits until a JavaScript expression is true.
func (b *Tab) WaitTrue(expression string) {
	b.t.Helper()
	until[bool](b, expression, "("+expression+") ? true : null")
}
