package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/taskerhq/tasker/blob"
)

// blobStore writes, reads and deletes an object in the store of large results. Without a store it looks for results
// kept in one.
func (p *patient) blobStore(ctx context.Context) ([]Check, error) {
	return p.examine(ctx, []exam{{"blob_store", func(ctx context.Context, tx *sql.Tx) ([]Check, error) {
		var results, deleting int64
		if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN state = 2 THEN 1 ELSE 0 END), 0)
 FROM tasker_large_results`).Scan(&results, &deleting); err != nil {
			return nil, err
		}
		switch {
		case p.Blobs.URL == "" && results == 0:
			return nil, nil
		case p.Blobs.URL == "":
			return []Check{{"", Warn, fmt.Sprintf("there are %d large results, and no blob store is configured here", results),
				"Run doctor with the configuration of the servers; if they have no blobs.url either, set it: see " +
					"docs/guides/large-results.md."}}, nil
		}
		if err := p.tryBlobs(ctx); err != nil {
			return []Check{{"", Fail, "the blob store cannot be used: " + reason(err),
				"Check that it runs, and the URL, credentials and permissions in the section blobs: see " +
					"docs/guides/large-results.md. Workers keep large results and try again meanwhile."}}, nil
		}
		return []Check{{"", OK, fmt.Sprintf("an object was written, read and deleted; there are %d large results, of which "+
			"%d wait for their deletion", results, deleting), ""}}, nil
	}}})
}

// tryBlobs creates no directory: that would belong to doctor's user.
func (p *patient) tryBlobs(ctx context.Context) error {
	if dir, is := strings.CutPrefix(p.Blobs.URL, "file:"); is {
		if _, err := os.Stat(strings.TrimPrefix(dir, "//")); err != nil {
			return err
		}
	}
	store, err := p.Blobs.Open()
	if err != nil {
		return err
	}
	key, content := "doctor/"+rand.Text(), []byte(`"tasker doctor"`)
	if err := store.Put(ctx, key, bytes.NewReader(content), int64(len(content)), sha256.Sum256(content)); err != nil {
		return err
	}
	return errors.Join(readBack(ctx, store, key, content), store.Delete(ctx, key))
}

func readBack(ctx context.Context, store blob.Store, key string, want []byte) error {
	r, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		return errors.Join(err, errors.New("what was written comes back changed"))
	}
	return nil
}
