package consistency

// KeyIDSize is the size of a key's fingerprint in bytes.
const KeyIDSize = keyIDSize

// KeyID is a fingerprint of a key, which tells nothing about it: for who signs
// something else with what replicas share.
func KeyID(key []byte) [KeyIDSize]byte { return keyID(key) }
