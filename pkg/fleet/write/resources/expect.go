package resources

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// expected returns the fingerprint of a dry run: the same objects with the same content, over the same versions. It is empty
// where an object was refused. When the caller expects another one, it fails; otherwise only these versions are changed then.
func expected(steps []*step, want *string) (string, error) {
	if failed(steps) {
		return "", nil
	}
	h := sha256.New()
	for _, st := range steps {
		content, err := json.Marshal(st.object.Object)
		if err != nil {
			return "", err
		}
		before := st.before
		if st.result.Action == ActionCreated {
			before = "" // Nothing is there.
		}
		// A hash takes everything.
		_, _ = fmt.Fprintf(h, "%q %q %q %q %x\n", st.kind.GroupResource(), st.namespace, st.object.GetName(), before, sha256.Sum256(content))
		if want != nil {
			st.expected = before
		}
	}
	fingerprint := base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
	if want != nil && *want != fingerprint {
		return "", apierror.At(apierror.New(apierror.CodeConflict,
			"it would not do any more what was tried: an object was changed, or the manifests are others; send it with dryRun again, and repeat it with the fingerprint of that"), "input.expect")
	}
	return fingerprint, nil
}
