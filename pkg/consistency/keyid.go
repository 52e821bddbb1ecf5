package consistency

// KeyIDSize is the size of a key's fingerprint in bytes.
const KeyIDSize = keyIDSize

// KeyID returns a fingerprint of a key that does not reveal the key, for packages that sign with a
// key that replicas share.
func KeyID(key []byte) [KeyIDSize]byte { return keyID(key) }
