package page

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// List is one page of a list.
type List[T any] struct {
	Items []T
	Next  string // cursor, "" at the end
}

// Pager leads to other pages of a list. Its template is "pager".
type Pager struct {
	Count     int
	First     string // address of the first page, "" if this is it
	Next      string // address of the next page, "" at the end
	CSV, JSON string // the whole list as a file
}

// Pager returns the links of a list page.
func (l List[T]) Pager(r *Request) Pager {
	p := Pager{Count: len(l.Items), CSV: r.exportURL("csv"), JSON: r.exportURL("jsonl")}
	if r.Query("cursor") != "" {
		p.First = r.URL()
	}
	if l.Next != "" {
		p.Next = r.URL("cursor", l.Next)
	}
	return p
}

// Tab is a view of a list. The template is "tabs".
type Tab struct {
	Title, URL string
	Here       bool
}

func (r *Request) exportURL(format string) string {
	path, query, _ := strings.Cut(r.URL("format", format), "?")
	return path + "/export?" + query
}

// ListPage describes a page about a list of T. Its template shows a D, which includes the list.
type ListPage[T, D any] struct {
	Page[D]
	// Rows returns the page of the list at a cursor ("" for the first), with the request's filters.
	Rows func(r *Request, cursor string) (List[T], error)
	// Show makes the template's argument.
	Show func(r *Request, of List[T]) (D, error)
	// Columns are the head of the CSV, Record is one row.
	Columns []string
	Record  func(row T) []string
}

// exportRows bounds an exported list. The export of the API has no bound.
const exportRows = 100_000

// AddList adds a page about a list, and below it at /export the list as a file, from its beginning, up to 100,000 rows;
// a last line reports that there are more.
func AddList[T, D any](f *Family, p ListPage[T, D]) {
	s := f.site
	p.Load = func(r *Request) (D, error) {
		list, err := p.Rows(r, r.Query("cursor"))
		if err != nil {
			var none D
			return none, err
		}
		return p.Show(r, list)
	}
	Add(f, p.Page)
	s.mux.Handle("GET "+p.Path+"/export", s.viewed(p.Needs, func(w http.ResponseWriter, r *Request) {
		export(s, w, r, p.Rows, p.Columns, p.Record)
	}))
}

type rowWriter[T any] struct {
	write func(row T) error
	end   func(note string)
}

// export cuts the connection after a late error: a file that lacks rows must not look complete.
func export[T any](s *Site, w http.ResponseWriter, r *Request, rows func(*Request, string) (List[T], error),
	columns []string, record func(T) []string,
) {
	list, err := rows(r, "")
	if err != nil {
		s.fail(w, r, "", err)
		return
	}
	out := exporter(w, r, columns, record)
	for n := 0; ; {
		for _, row := range list.Items {
			if n++; n > exportRows {
				out.end("there are more than 100,000 rows: narrow the filter")
				return
			}
			if err := out.write(row); err != nil {
				return // the client has left
			}
		}
		if list.Next == "" {
			out.end("")
			return
		}
		if list, err = rows(r, list.Next); err != nil {
			s.log.WarnContext(r.Context(), "a list could not be sent whole", "page", r.http.Pattern, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

func exporter[T any](w http.ResponseWriter, r *Request, columns []string, record func(T) []string) rowWriter[T] {
	name := strings.Trim(strings.ReplaceAll(strings.TrimSuffix(r.http.URL.Path, "/export"), "/", "-"), "-")
	kind, mime := "csv", "text/csv; charset=utf-8"
	if r.Query("format") == "jsonl" {
		kind, mime = "jsonl", "application/x-ndjson"
	}
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="tasker-%s.%s"`, name, kind))
	if kind == "jsonl" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return rowWriter[T]{write: func(row T) error { return encoder.Encode(row) }, end: func(note string) {
			if note != "" {
				_ = encoder.Encode(map[string]string{"note": note}) // the client may have left
			}
		}}
	}
	c := csv.NewWriter(w)
	_ = c.Write(columns) // Flush returns the error
	return rowWriter[T]{write: func(row T) error { return c.Write(plainCells(record(row))) }, end: func(note string) {
		if note != "" {
			_ = c.Write([]string{note})
		}
		c.Flush()
	}}
}

// plainCells keeps spreadsheets from taking a cell for a formula.
func plainCells(cells []string) []string {
	for i, c := range cells {
		if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) {
			cells[i] = "'" + c
		}
	}
	return cells
}
