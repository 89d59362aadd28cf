package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// File is one migration.
type File struct {
	Version int64  // from 1, without a gap
	Name    string // 0001_words.sql
	SQL     string // the whole file
	SHA256  string // of SQL, in hexadecimal
}

// fileName matches the name of a migration. Any other file in the directory is an error and not
// ignored.
var fileName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// Files reads the list of migrations from the top of a directory and checks that
// it can only ever grow: versions without a gap, and in each file one Up part,
// which is one transaction. Line endings count as \n, wherever the binary was
// built.
func Files(dir fs.FS) ([]File, error) {
	entries, err := fs.ReadDir(dir, ".") // sorted by name, and so by version
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("list migrations: there are none")
	}
	files := make([]File, len(entries))
	for i, entry := range entries {
		raw, err := fs.ReadFile(dir, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", entry.Name(), err)
		}
		text := strings.ReplaceAll(string(raw), "\r\n", "\n")
		sum := sha256.Sum256([]byte(text))
		files[i] = File{Version: int64(i + 1), Name: entry.Name(), SQL: text, SHA256: hex.EncodeToString(sum[:])}
		if err := files[i].check(); err != nil {
			return nil, fmt.Errorf("read migration %s: %w", entry.Name(), err)
		}
	}
	return files, nil
}

// annotation matches a line that is an instruction for goose.
var annotation = regexp.MustCompile(`(?mi)^--[ \t]*\+goose[ \t]+(.*?)[ \t]*$`)

// check returns what is wrong with a file.
func (f File) check() error {
	m := fileName.FindStringSubmatch(f.Name)
	if m == nil {
		return fmt.Errorf("the name must be NNNN_words.sql")
	}
	if n, err := strconv.ParseInt(m[1], 10, 64); err != nil || n != f.Version {
		return fmt.Errorf("the number must be %04d: versions have no gap", f.Version)
	}
	ups := 0
	for _, a := range annotation.FindAllStringSubmatch(f.SQL, -1) {
		switch words := strings.ToLower(a[1]); words {
		case "up":
			ups++
		case "statementbegin", "statementend":
		default:
			// Down would lose data; NO TRANSACTION could leave half of it behind.
			return fmt.Errorf("%q is not allowed: a migration goes up, in one transaction", a[0])
		}
	}
	if ups != 1 {
		return fmt.Errorf("it must have one line -- +goose Up")
	}
	return nil
}

// SQL returns the statements of files for people to read, without goose's annotations.
// It is what an administrator applies by hand, or reads before migrating.
func SQL(files []File) string {
	if len(files) == 0 {
		return "-- nothing is pending\n"
	}
	var b strings.Builder
	for i, f := range files {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "-- %s (sha256 %s)\n%s", f.Name, f.SHA256, annotation.ReplaceAllString(f.SQL, ""))
	}
	return b.String()
}

// beginWith is a directory in which each migration begins with an additional statement.
type beginWith struct {
	fs.FS
	statement string
}

// Open implements fs.FS.
// The checksum is that of the original file: the statement depends on the configuration.
func (b beginWith) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	if err != nil || b.statement == "" || !fileName.MatchString(name) {
		return f, err
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text := annotation.ReplaceAllStringFunc(string(raw), func(line string) string {
		if up.MatchString(line) {
			line += "\n" + b.statement
		}
		return line
	})
	return begun{f, strings.NewReader(text)}, nil
}

// up matches the annotation after which the statements begin.
var up = regexp.MustCompile(`(?i)\+goose[ \t]+up[ \t]*$`)

// begun is a file with other content.
type begun struct {
	fs.File
	content io.Reader
}

// Read implements fs.File.
func (b begun) Read(p []byte) (int, error) { return b.content.Read(p) }
