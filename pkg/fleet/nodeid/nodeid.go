// Package nodeid makes and reads the global IDs of the API.
//
// An ID is opaque to clients. Inside it is the name of the object, so that it
// stays the same over restarts and replicas and needs no table.
package nodeid

import (
	"encoding/base64"
	"encoding/json"
	"hash/crc32"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// ID names an object.
type ID struct {
	// Type is the GraphQL type.
	Type string
	// Parts are the names that lead to the object, from the outside in.
	Parts []string
}

// String is the ID as clients see it.
func (id ID) String() string {
	raw, err := json.Marshal(append([]string{id.Type}, id.Parts...))
	if err != nil {
		panic("nodeid: encoding strings: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte{checksum(raw)}, raw...))
}

// New makes an ID.
func New(typ string, parts ...string) string { return ID{Type: typ, Parts: parts}.String() }

// Parse reads an ID. The error is INVALID and names the argument.
func Parse(text string) (ID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 2 || checksum(raw[1:]) != raw[0] {
		return ID{}, notAnID()
	}
	var parts []string
	if err := json.Unmarshal(raw[1:], &parts); err != nil || len(parts) == 0 {
		return ID{}, notAnID()
	}
	return ID{Type: parts[0], Parts: parts[1:]}, nil
}

// checksum distinguishes a mistyped ID from the ID of an object that no longer exists. It protects
// nothing: permissions are checked when the object is read.
func checksum(raw []byte) byte { return byte(crc32.ChecksumIEEE(raw)) } //nolint:gosec // One byte of the checksum is what is wanted.

func notAnID() error {
	return apierror.Invalid("id", "This is not an ID; give the id of an object as some other field returned it")
}
