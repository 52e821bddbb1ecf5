package fleet

import stdbase64 "encoding/base64"

// base64 encodes bytes for a field of type []byte.
func base64(content []byte) string { return stdbase64.StdEncoding.EncodeToString(content) }

func unbase64(text string) (string, error) {
	content, err := stdbase64.StdEncoding.DecodeString(text)
	return string(content), err
}
