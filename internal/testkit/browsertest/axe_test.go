package browsertest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
)

// The files are those of the npm package axe-core 4.14.1, byte for byte.
func TestAxeIsAsPublished(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"axe.min.js":            "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
		"LICENSE":               "af175b9d96ee93c21a036152e1b905b0b95304d4ae8c2c921c7609100ba8df7e",
		"LICENSE-3RD-PARTY.txt": "4f8563870d0fca38bbc3e00b6f670cb7fa9f380ba9f26a7f7d1184a6b18b1653",
	} {
		raw, err := os.ReadFile("testdata/axe/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has SHA-256 %x, want %s", name, sum, want)
		}
	}
}
