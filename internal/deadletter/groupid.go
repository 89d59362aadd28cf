package deadletter

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/internal/failure"
)

// GroupOf returns the group of a fingerprint in a namespace. The same arguments give the same group in every process.
func GroupOf(namespace string, p failure.Print) GroupID { return groupOfKey(namespace, p.Key()) }

// GroupBefore returns the group in which a fingerprint was by the rules of the version before; 0: in the same.
func GroupBefore(namespace string, p failure.Print) GroupID {
	if p.Before == "" {
		return 0
	}
	return groupOfKey(namespace, p.Before)
}

// groupOfKey returns the group of the key of a fingerprint.
func groupOfKey(namespace, key string) GroupID {
	h := sha256.New()
	var length [8]byte
	// The length in front keeps a namespace and a key apart, whatever they contain.
	h.Write(binary.BigEndian.AppendUint64(length[:0], uint64(len(namespace))))
	h.Write([]byte(namespace))
	h.Write([]byte(key))
	var sum [sha256.Size]byte
	id := GroupID(binary.BigEndian.Uint64(h.Sum(sum[:0])) >> 1)
	return max(id, 1) // 0 is no group
}

// String returns the 16 hexadecimal digits under which a group is shown.
func (id GroupID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// ParseGroupID reads the form of GroupID.String: 16 lower-case hexadecimal digits, not all 0.
func ParseGroupID(s string) (GroupID, error) {
	n, err := strconv.ParseInt(s, 16, 64)
	if id := GroupID(n); err == nil && n > 0 && id.String() == s {
		return id, nil
	}
	return 0, fmt.Errorf("%q is not the ID of a group: it has 16 hexadecimal digits in lower case, the first 0 to 7",
		bounded(s))
}

// bounded returns the beginning of a text for an error message.
func bounded(s string) string { return failure.Cut(s[:min(len(s), 200)], 64) }
