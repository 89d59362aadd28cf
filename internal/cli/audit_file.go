package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/taskerhq/tasker/operate"
)

// archiveFormat is JSON lines: an archiveHeader, then operate.AuditLinks with their acts.
const archiveFormat = "tasker-audit-1"

type archiveHeader struct {
	Format   string                 `json:"format"`
	Archives []operate.AuditArchive `json:"archives"` // the chain starts behind the last one
}

// auditFile reads an archive as a chain, to verify it as one. A page that begins further ahead reopens the file. It
// is not safe for concurrent use.
type auditFile struct {
	path   string
	file   *os.File // nil: not open
	lines  *json.Decoder
	header archiveHeader
	read   int64 // seq of the last line
}

var _ operate.ChainBackend = (*auditFile)(nil)

func (f *auditFile) AuditChain(_ context.Context, filter operate.AuditChainFilter) (*operate.AuditChain, error) {
	if f.file == nil || filter.Above < f.read {
		if err := f.open(); err != nil {
			return nil, err
		}
	}
	page := &operate.AuditChain{Archives: f.header.Archives}
	for len(page.Links) < filter.Limit {
		var l operate.AuditLink
		switch err := f.lines.Decode(&l); {
		case errors.Is(err, io.EOF):
			return page, nil
		case err != nil:
			return nil, fmt.Errorf("read %s behind link %d: %w", f.path, f.read, err)
		}
		if f.read = l.Seq; l.Seq > filter.Above {
			page.Links = append(page.Links, l)
		}
	}
	return page, nil
}

func (f *auditFile) open() error {
	if err := f.Close(); err != nil {
		return err
	}
	file, err := os.Open(f.path)
	if err != nil {
		return usageError{err}
	}
	f.file, f.lines, f.read = file, json.NewDecoder(bufio.NewReader(file)), 0
	f.header = archiveHeader{}
	if err := f.lines.Decode(&f.header); err != nil || f.header.Format != archiveFormat {
		return usagef("%s is not an archive that tasker audit archive has written", f.path)
	}
	return nil
}

func (f *auditFile) Close() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	return file.Close()
}

// An archive has only sealed acts.
func (f *auditFile) LooseActs(context.Context, int64) (*operate.LooseActs, error) {
	return &operate.LooseActs{}, nil
}
