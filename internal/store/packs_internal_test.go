package store

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
)

// A cached value stays that of its original, even after the cache overflows.
func TestPacksAreBounded(t *testing.T) {
	t.Parallel()
	p := packs{known: map[[sha256.Size]byte][]byte{}}
	random := rand.NewChaCha8([32]byte{1})
	texts := make([][]byte, 3*maxPacks/(50<<10))
	for i := range texts {
		texts[i] = make([]byte, 50<<10) // cannot be compressed
		_, _ = random.Read(texts[i])    // never fails
	}
	for range 2 {
		for _, text := range texts {
			packed, err := p.of(text)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := unpack(packed)
			if err != nil || !bytes.Equal(plain, text) {
				t.Fatalf("a text of %d bytes came back as %d bytes (%v)", len(text), len(plain), err)
			}
			kept := 0
			for _, k := range p.known {
				kept += len(k)
			}
			if kept != p.bytes || kept > maxPacks {
				t.Fatalf("%d bytes are remembered, %d are counted, and %d are allowed", kept, p.bytes, maxPacks)
			}
		}
	}
	a, _ := p.of(texts[len(texts)-1])
	b, _ := p.of(bytes.Clone(texts[len(texts)-1]))
	if &a[0] != &b[0] {
		t.Error("a text that was packed just now is packed again")
	}
}
