// Package docs runs every GraphQL operation that the documents show against a running
// fleet. An operation that ends in an error fails the test, unless its first line
// says which code it fails with:
//
//	# Fails with CONFLICT: another client was faster.
//
// A list with arguments that comes back empty fails it too, unless the comment above
// the field says when it is:
//
//	# None while all instances answer.
//
// Where it takes variables, they are the next block, if that is one of JSON with the
// word variables ("```json variables"); else scene.variable knows what is sensible. What
// a document does to the namespaces shop and ops of alpha happens in copies of them that
// the document has to itself, and so do its instances that the fleet has not.
package docs

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
