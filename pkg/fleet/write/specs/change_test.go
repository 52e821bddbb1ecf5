package specs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplaced(t *testing.T) {
	from := map[string]string{"propagationpolicy.karmada.io/permanent-id": "1", "a": "1", "notkarmada.io/b": "1", "karmada.io": "1"}
	for _, tt := range []struct {
		reason   string
		to, want map[string]string
	}{
		{"Karmada's own stay when all others go", map[string]string{}, map[string]string{"propagationpolicy.karmada.io/permanent-id": "1"}},
		{"what is given is there", map[string]string{"c": "2"}, map[string]string{"propagationpolicy.karmada.io/permanent-id": "1", "c": "2"}},
		{
			"Karmada's own, given otherwise, are for the instance to refuse",
			map[string]string{"propagationpolicy.karmada.io/permanent-id": "2"}, map[string]string{"propagationpolicy.karmada.io/permanent-id": "2"},
		},
	} {
		if diff := cmp.Diff(tt.want, replaced(from, tt.to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
