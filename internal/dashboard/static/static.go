// Package static has the styles, scripts and icon of the dashboard. They are in the binary, so pages load nothing from
// other hosts.
//
// vendor/ has third-party scripts as published, each with its license; a test compares their hashes.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed *.css *.js *.svg vendor
var content embed.FS

// Files are the files, ready to be sent. It never changes after New.
type Files struct {
	byName map[string]*file
}

type file struct {
	address       string
	contentType   string
	plain, zipped []byte
}

// types are the kinds of files that are sent; licenses are not.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// New reads and compresses the files. It panics if they are not in the binary, which no input causes.
func New() *Files {
	f := &Files{byName: map[string]*file{}}
	err := fs.WalkDir(content, ".", func(name string, _ fs.DirEntry, err error) error {
		kind := types[path.Ext(name)]
		if err != nil || kind == "" {
			return err
		}
		plain, err := content.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(plain)
		f.byName[name] = &file{address: "/static/" + hex.EncodeToString(sum[:6]) + "/" + name, contentType: kind,
			plain: plain, zipped: compress(plain)}
		return nil
	})
	if err != nil {
		panic("static: " + err.Error())
	}
	return f
}

func compress(plain []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = z.Write(plain)                                   // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

// Address returns the address of a file, with the hash of the content, so browsers may cache it permanently. It panics
// for a missing file.
func (f *Files) Address(name string) string { return f.byName[name].address }

// ServeHTTP serves GET /static/{hash}/{name...}. An address with an old hash gets the present file, without caching.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found := f.byName[r.PathValue("name")]
	if found == nil {
		http.NotFound(w, r)
		return
	}
	header, body := w.Header(), found.plain
	header.Set("Cache-Control", "no-cache")
	if r.URL.Path == found.address {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", found.contentType)
	header.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = found.zipped
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may have left
}
