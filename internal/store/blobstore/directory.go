package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/taskerhq/tasker/blob"
)

// incoming is the directory of unfinished objects. It is no name of a key.
const incoming = ".incoming"

const leftOver = 24 * time.Hour

// Directory is a blob.Store of files. All nodes of a database must share it.
type Directory struct{ root string }

var _ blob.Store = (*Directory)(nil)

// OpenDirectory opens or creates a directory, and removes unfinished files of earlier processes.
func OpenDirectory(root string) (*Directory, error) {
	d := &Directory{root}
	if err := os.MkdirAll(filepath.Join(root, incoming), 0o700); err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	files, err := os.ReadDir(filepath.Join(root, incoming))
	if err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > leftOver {
			_ = os.Remove(filepath.Join(root, incoming, f.Name())) // another node may have been first
		}
	}
	return d, nil
}

func (d *Directory) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

// Put implements blob.Store. The file gets its name once it is complete and on disk.
func (d *Directory) Put(ctx context.Context, key string, content io.ReadSeeker, size int64, _ [32]byte) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Join(d.root, incoming), "*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // fails once it has its own name
	n, err := io.Copy(file, &untilDone{ctx, content})
	if err == nil && n != size {
		err = fmt.Errorf("the object has %d bytes, not %d", n, size)
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return d.name(file.Name(), d.path(key))
}

// name gives a written file its name. Delete may remove the empty directory at the same moment: then the directory is
// missing, or exists for Mkdir and not for the look at it.
func (d *Directory) name(written, path string) error {
	var err error
	for range 50 {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err = os.Rename(written, path); err == nil {
			return errors.Join(syncDirectory(filepath.Dir(path)), syncDirectory(d.root))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// Get implements blob.Store.
func (d *Directory) Get(_ context.Context, key string) (io.ReadCloser, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return os.Open(d.path(key))
}

// Delete implements blob.Store.
func (d *Directory) Delete(_ context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := os.Remove(d.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(d.path(key))) // fails unless it is empty
	return nil
}

type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}
