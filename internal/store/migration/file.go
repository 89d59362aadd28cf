package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// File is one version of the schema: the whole of it for version 1, a migration for a later one.
type File struct {
	Version int64  // from 1, without a gap
	Name    string // NNNN_words.sql
	SQL     string // all statements
	SHA256  string // of SQL, in hexadecimal
}

// schemaName is the name of version 1, which is no file.
const schemaName = "0001_schema.sql"

// fileName matches the name of a migration.
var fileName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// Files reads the versions of a schema from the top of a directory. Version 1 consists of the files that parts name,
// without .sql, in that order; the other files are migrations, without a gap from 0002. Line endings count as \n,
// wherever the binary was built.
// A file that is neither is an error and not ignored: a schema without it would look complete.
func Files(dir fs.FS, parts ...string) ([]File, error) {
	entries, err := fs.ReadDir(dir, ".") // sorted by name, and so by version
	if err != nil {
		return nil, fmt.Errorf("list the files of the schema: %w", err)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("the schema has no parts")
	}
	files := []File{{}}
	texts := map[string]string{}
	for _, entry := range entries {
		raw, err := fs.ReadFile(dir, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", entry.Name(), err)
		}
		text := strings.ReplaceAll(string(raw), "\r\n", "\n")
		if m := transaction.FindString(text); m != "" {
			return nil, fmt.Errorf("%s: %q is not allowed: a version is one transaction", entry.Name(), strings.TrimSpace(m))
		}
		number := fileName.FindStringSubmatch(entry.Name())
		if number == nil {
			texts[entry.Name()] = text
			continue
		}
		next := int64(len(files) + 1)
		if n, err := strconv.ParseInt(number[1], 10, 64); err != nil || n != next {
			return nil, fmt.Errorf("%s: the number must be %04d: versions have no gap, and 1 is the schema", entry.Name(), next)
		}
		files = append(files, file(next, entry.Name(), text))
	}
	var schema strings.Builder
	for _, part := range parts {
		name := part + ".sql"
		text, there := texts[name]
		if !there {
			return nil, fmt.Errorf("%s: this part of the schema is missing, or named twice", name)
		}
		delete(texts, name)
		fmt.Fprintf(&schema, "-- %s\n\n%s\n", name, text)
	}
	for name := range texts {
		return nil, fmt.Errorf("%s: it is no part of the schema, and as a migration it would be named NNNN_words.sql", name)
	}
	files[0] = file(1, schemaName, schema.String())
	return files, nil
}

// transaction matches a statement that would end the transaction of a version halfway.
var transaction = regexp.MustCompile(`(?mi)^[ \t]*(COMMIT|ROLLBACK|START[ \t]+TRANSACTION|BEGIN[ \t]+TRANSACTION|BEGIN[ \t]*;)`)

func file(version int64, name, text string) File {
	sum := sha256.Sum256([]byte(text))
	return File{Version: version, Name: name, SQL: text, SHA256: hex.EncodeToString(sum[:])}
}

// SQL returns the statements of files for people to read.
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
		fmt.Fprintf(&b, "-- %s (sha256 %s)\n%s", f.Name, f.SHA256, f.SQL)
	}
	return b.String()
}
