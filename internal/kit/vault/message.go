package vault

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
)

// saltSize is the size in bytes of the salt that derives the key of a message. It begins the nonce.
const saltSize = 12

// SealMessage encrypts bytes without a place, with the first key, and returns its ID. The data begin with a random
// nonce of 192 bits. They are bound to bound, and to the ID of the key.
func (r *Ring) SealMessage(plain []byte, bound string) (id string, data []byte, err error) {
	if len(r.list()) == 0 {
		return "", nil, errors.New("there is no key")
	}
	k := &r.keys[0]
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	c, err := k.message(salt)
	if err != nil {
		return "", nil, err
	}
	data = make([]byte, saltSize+c.NonceSize(), saltSize+c.NonceSize()+len(plain)+c.Overhead())
	copy(data, salt)
	nonce := data[saltSize:]
	_, _ = rand.Read(nonce)
	return k.id, c.Seal(data, nonce, plain, messageBound(bound, k.id)), nil
}

// OpenMessage decrypts the data of SealMessage. A *MissingKeyError means that the ring lacks the key.
func (r *Ring) OpenMessage(id string, data []byte, bound string) ([]byte, error) {
	k := r.find(id)
	if k == nil {
		return nil, &MissingKeyError{id}
	}
	if len(data) < saltSize {
		return nil, errForeign
	}
	c, err := k.message(data[:saltSize])
	if err != nil {
		return nil, err
	}
	rest := data[saltSize:]
	if len(rest) < c.NonceSize() {
		return nil, errForeign
	}
	plain, err := c.Open(nil, rest[:c.NonceSize()], rest[c.NonceSize():], messageBound(bound, id))
	if err != nil {
		return nil, errForeign
	}
	return plain, nil
}

func (k *key) message(salt []byte) (cipher.AEAD, error) {
	return k.derived("tasker codec 1\x00" + string(salt))
}

func messageBound(bound, id string) []byte { return []byte(bound + "\x00" + id) }
