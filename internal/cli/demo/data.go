package demo

import (
	"bytes"
	"compress/gzip"
	_ "embed" // embeds the data set and the template
	"encoding/csv"
	"fmt"
	"io"
	"slices"
)

//go:embed data/birdstrikes.csv.gz
var birdstrikes []byte

//go:embed data/strike_report.yaml
var strikeReportYAML string

// The workflow of the embedded template.
const (
	namespace       = "demo"
	templateName    = "strike_report"
	templateVersion = "1.0.0"
)

// columns is the required header: a moved column would make every report dirty.
var columns = []string{
	"Airport Name", "Aircraft Make Model", "Effect Amount of damage", "Flight Date",
	"Aircraft Airline Operator", "Origin State", "Phase of flight", "Wildlife Size", "Wildlife Species",
	"Time of day", "Cost Other", "Cost Repair", "Cost Total $", "Speed IAS in knots",
}

// Row is one report as filed: untrusted text. It is the context of a task.
type Row struct {
	Record   int    `json:"record"` // place in the file, from 1
	Airport  string `json:"airport"`
	State    string `json:"state"`
	Aircraft string `json:"aircraft"`
	Operator string `json:"operator"`
	Date     string `json:"date"`
	Phase    string `json:"phase"`
	Time     string `json:"time_of_day"`
	Size     string `json:"wildlife_size"`
	Species  string `json:"wildlife_species"`
	Damage   string `json:"damage"`
	Other    string `json:"cost_other"`
	Repair   string `json:"cost_repair"`
	Total    string `json:"cost_total"`
	Speed    string `json:"speed,omitempty"`
}

// Rows returns all embedded reports in file order.
func Rows() ([]Row, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(birdstrikes))
	if err != nil {
		return nil, fmt.Errorf("unpack bird strikes: %w", err)
	}
	in := csv.NewReader(unzipped)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read header of bird strikes: %w", err)
	}
	// A later export may have other columns.
	if !slices.Equal(header, columns) {
		return nil, fmt.Errorf("read header of bird strikes: columns are %q, want %q", header, columns)
	}
	var rows []Row
	for {
		f, err := in.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read bird strike %d: %w", len(rows)+1, err)
		}
		rows = append(rows, Row{
			Record: len(rows) + 1, Airport: f[0], Aircraft: f[1], Damage: f[2], Date: f[3], Operator: f[4], State: f[5],
			Phase: f[6], Size: f[7], Species: f[8], Time: f[9], Other: f[10], Repair: f[11], Total: f[12], Speed: f[13],
		})
	}
}
