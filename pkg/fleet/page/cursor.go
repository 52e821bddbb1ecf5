package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// cursorLife is how long a cursor may be used. It bounds how long a client can
// sit on one, so that the format may change between releases.
const cursorLife = 24 * time.Hour

// cursorVersion changes with the format.
const cursorVersion = 1

// cursor is a place in one list, as it travels.
type cursor[P any] struct {
	Version  int    `json:"v"`
	List     []byte `json:"l"`
	Issued   int64  `json:"t"`
	Position P      `json:"p"`
}

// Identity stands for one list: its noun, scope, filter and order. A cursor of
// one list is of no use in another.
type Identity [sha256.Size]byte

// IdentityOf makes the identity of a list from everything that says what is in
// it and in which order.
func IdentityOf(parts ...any) Identity {
	raw, err := json.Marshal(parts)
	if err != nil {
		// Every part is a plain value of ours; an unencodable one is a programming error.
		panic("page: identity of a list: " + err.Error())
	}
	return sha256.Sum256(raw)
}

// Cursor makes the cursor of a position in a list.
func Cursor[P any](list Identity, position P, now time.Time) string {
	raw, err := json.Marshal(cursor[P]{Version: cursorVersion, List: list[:8], Issued: now.Unix(), Position: position})
	if err != nil {
		panic("page: encoding a cursor: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Position reads a cursor of the list. Text that is no cursor is INVALID, a
// cursor of another list or an expired one STALE_CURSOR; both name the argument.
func Position[P any](list Identity, text string, now time.Time) (*P, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, notACursor()
	}
	var c cursor[P]
	if err := json.Unmarshal(raw, &c); err != nil || c.Version == 0 {
		return nil, notACursor()
	}
	switch issued := time.Unix(c.Issued, 0); {
	case c.Version != cursorVersion:
		return nil, stale("The cursor was made by another version of Kairship; start again from the first page")
	case !bytes.Equal(c.List, list[:8]):
		return nil, stale("The cursor is from another list: its scope, filter or order differs; start again from the first page")
	case now.Sub(issued) > cursorLife || issued.After(now.Add(time.Hour)):
		return nil, stale("The cursor has expired; start again from the first page")
	}
	return &c.Position, nil
}

func notACursor() error {
	return apierror.Invalid("after", "This is not a cursor; give the endCursor of a page, or nothing for the first page")
}

func stale(message string) error {
	return &apierror.Error{Code: apierror.CodeStaleCursor, Argument: "after", Message: message}
}
