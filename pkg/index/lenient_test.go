package index_test

import (
	"encoding/json"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/index"
)

// Times are those that Kubernetes' own types read, or refuse.
func TestLenientTimes(t *testing.T) {
	type has struct {
		At   metav1.Time  `json:"at"`
		Also *metav1.Time `json:"also"`
	}
	for _, text := range []string{
		`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05+05:30"`, `"2026-01-02T03:04:05.678901Z"`, `null`, `""`, `"yesterday"`, `"2026-01-02"`, `5`, `true`, `{}`, `["2026-01-02T03:04:05Z"]`,
	} {
		body := []byte(`{"at":` + text + `,"also":` + text + `}`)
		var want, got has
		wrong, err := json.Unmarshal(body, &want), jsonv2.Unmarshal(body, &got, index.Lenient)
		if (wrong == nil) != (err == nil) {
			t.Errorf("%s: got %v, Kubernetes' own type says %v", text, err, wrong)
		}
		if err == nil && (!got.At.Equal(&want.At) || !got.Also.Equal(want.Also) || got.At.Location() != want.At.Location()) {
			t.Errorf("%s: got %v and %v, want %v and %v", text, got.At, got.Also, want.At, want.Also)
		}
	}
}
