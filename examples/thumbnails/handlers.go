package main

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	_ "image/jpeg" // a format of photos

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// list returns the files of the folder.
func list(_ context.Context, job *worker.Job) (any, error) {
	input, err := worker.Context[struct{ Folder string }](job)
	if err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(input.Folder, "*"))
}

// Photo is the input of a child of the step "thumbnails".
type Photo struct {
	Item string `json:"item"`
}

// thumbnail writes a small copy of a photo, and returns its place: results are for small facts, files and buckets
// for content.
func thumbnail(_ context.Context, p Photo) (string, error) {
	photo, err := open(p.Item)
	if err != nil {
		return "", err
	}
	to := filepath.Join("thumbnails", filepath.Base(p.Item)+".png")
	return to, save(to, shrink(photo, 4))
}

// sheet puts all thumbnails on one image, and returns it. It is larger than what the database takes. So the server
// keeps it in its blob store; nothing else is different for a worker.
func sheet(_ context.Context, job *worker.Job) (any, error) {
	files, err := worker.ParentResult[[]string](job, "thumbnails")
	if err != nil {
		return nil, err
	}
	var all []image.Image
	for n, file := range files {
		one, err := open(file)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if err := job.Progress(100*(n+1)/len(files), file); err != nil {
			return nil, err
		}
	}
	return encode(arrange(all, 6)) // bytes are base64 in JSON
}

// open reads an image. A file that is no image fails permanently, and equal codes and texts form one group in the
// inbox. An unreadable file is retried.
func open(file string) (image.Image, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, worker.NonRetryable(&tasker.Failure{Code: "corrupt_image", Message: err.Error(),
			Details: fmt.Appendf(nil, `{"file": %q}`, file)})
	}
	return img, nil
}

// save writes under another name first: a dying attempt leaves no half image, and a second attempt does no harm.
func save(to string, img image.Image) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // no effect after the rename
	if err := png.Encode(f, img); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}
