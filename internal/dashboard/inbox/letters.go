package inbox

import (
	"encoding/hex"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type letterList struct {
	Letters []deadletters.Letter
	Pager   page.Pager
	Tabs    []page.Tab
}

func (p *pages) listLetters(r *page.Request, cursor string) (page.List[deadletters.Letter], error) {
	filter := deadletters.LetterFilter{Limit: 50, Cursor: cursor, Selection: deadletters.Selection{
		Namespace: r.Namespace(), Source: r.Query("source"), Origin: r.Query("origin"),
		State: deadletters.LetterState(r.Query("state")), ErrorType: r.Query("error_type"), Text: r.Query("text"),
		Groups: r.QueryAll("group")}}
	got, err := p.letters.Letters(r.Context(), filter)
	if err != nil {
		return page.List[deadletters.Letter]{}, err
	}
	return page.List[deadletters.Letter]{Items: got.Letters, Next: got.NextCursor}, nil
}

func (p *pages) showLetters(r *page.Request, of page.List[deadletters.Letter]) (letterList, error) {
	out := letterList{Letters: of.Items, Pager: of.Pager(r)}
	for _, s := range []string{"", "open", "scheduled", "redriving", "redriven", "discarded"} {
		title := "All"
		if s != "" {
			title = strings.ToUpper(s[:1]) + s[1:]
		}
		out.Tabs = append(out.Tabs, page.Tab{Title: title, URL: r.URL("state", s), Here: r.Query("state") == s})
	}
	return out, nil
}

func letterRecord(l deadletters.Letter) []string {
	return []string{l.LetterUUID.String(), l.Namespace, l.Source, l.Origin, string(l.State), l.GroupID, l.Failure.Type,
		l.Failure.Message, l.Handler, strconv.Itoa(l.Occurrences), strconv.Itoa(l.Replays),
		l.FirstAt.UTC().Format(time.RFC3339), l.LastAt.UTC().Format(time.RFC3339)}
}

type letterPage struct {
	Letter   *deadletters.LetterStory
	Why      *deadletters.StateExplanation
	Original text
	Edited   *text
	Lineage  template.HTML // "" for a letter that died once and waits
	Edit     bool
	Discard  bool
	Redrive  bool
}

// text is a payload on a page.
type text struct {
	Kind string // json, text or binary
	Text string
	Tree *page.Branch // nil unless a JSON object or array
	Size int
	Cut  bool
}

// shownBytes bounds a payload on the page; a download is complete.
const shownBytes = 256 << 10

// textOf returns a payload as text: JSON with line breaks and exact numbers, binary content as hexadecimal.
func textOf(c *deadletters.Content) text {
	raw := c.PayloadBytes()
	t := text{Kind: "text", Size: len(raw), Cut: len(raw) > shownBytes}
	switch {
	case json.Valid(raw):
		t.Kind, t.Text, t.Tree = "json", page.JSON(raw), page.Tree(raw)
	case utf8.Valid(raw):
		t.Text = string(raw[:min(len(raw), shownBytes)])
	default:
		t.Kind, t.Cut = "binary", len(raw) > shownBytes/16
		t.Text = hex.Dump(raw[:min(len(raw), shownBytes/16)])
	}
	return t
}

func (p *pages) letter(r *page.Request) (out letterPage, err error) {
	id, err := r.UUID("letter")
	if err != nil {
		return out, err
	}
	if out.Letter, err = p.letters.Letter(r.Reading(), id); err != nil {
		return out, err
	}
	if out.Why, err = p.letters.ExplainLetter(r.Context(), id); err != nil {
		return out, err
	}
	out.Lineage = lineage(r, out.Letter)
	out.Original = textOf(&out.Letter.Original)
	if out.Letter.Edited != nil {
		t := textOf(out.Letter.Edited)
		out.Edited = &t
	}
	open := out.Letter.State == deadletters.LetterOpen
	out.Edit, out.Redrive = open && r.Can(edits...), open && r.Can(redrives...)
	out.Discard = r.Can(discards...)
	return out, nil
}

func (p *pages) download(w http.ResponseWriter, r *page.Request) error {
	id, err := r.UUID("letter")
	if err != nil {
		return err
	}
	l, err := p.letters.Letter(r.Reading(), id)
	if err != nil {
		return err
	}
	c := &l.Original
	if r.Query("edited") != "" && l.Edited != nil {
		c = l.Edited
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="letter-`+id.String()+`.bin"`)
	_, _ = w.Write(c.PayloadBytes()) // the client may have left
	return nil
}

func (p *pages) changeLetter(r *page.Request) (page.Done, error) {
	id, err := r.UUID("letter")
	if err != nil {
		return page.Done{}, err
	}
	done := page.Done{To: "/letters/" + id.String()}
	switch r.Form("do") {
	case "discard":
		_, err = p.letters.DiscardLetter(r.Context(), id, act(r))
		done.Say = "The letter is discarded. It can be restored until it is purged."
		done.Offer = &page.Offer{Title: "Restore", Path: done.To + "/change",
			Fields: []page.Field{{Name: "do", Value: "restore"}}}
	case "restore":
		_, err = p.letters.RestoreLetter(r.Context(), id, act(r))
		done.Say = "The letter is open again."
	case "clear":
		_, err = p.letters.EditLetter(r.Context(), id, deadletters.LetterEdit{Clear: true, Act: act(r)})
		done.Say = "The edit is dropped. The original is sent."
	default:
		patch, perr := replacement(r.FormRaw("payload"))
		if perr != nil {
			return page.Done{}, perr
		}
		_, err = p.letters.EditLetter(r.Context(), id, deadletters.LetterEdit{Act: act(r),
			Edit: deadletters.Edit{Patch: patch}})
		done.Say = "The edit is saved. It is sent instead of the original, which is kept."
	}
	return done, err
}

// replacement returns a JSON Patch that replaces a whole payload.
func replacement(payload string) (json.RawMessage, error) {
	payload = strings.TrimSpace(payload)
	if !json.Valid([]byte(payload)) {
		return nil, page.BadField("payload", "must be JSON: "+page.Fault(payload))
	}
	return json.Marshal([]map[string]any{{"op": "replace", "path": "", "value": json.RawMessage(payload)}})
}

// previewEdit compares an edited payload with the one that is sent at present.
func (p *pages) previewEdit(r *page.Request) (page.Changes, error) {
	id, err := r.UUID("letter")
	if err != nil {
		return page.Changes{}, err
	}
	l, err := p.letters.Letter(r.Context(), id)
	if err != nil {
		return page.Changes{}, err
	}
	now := &l.Original
	if l.Edited != nil {
		now = l.Edited
	}
	return page.ChangesOf(now.PayloadBytes(), strings.TrimSpace(r.FormRaw("payload"))), nil
}
