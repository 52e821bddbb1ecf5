package workload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
)

// BenchmarkDriftIn measures what comparing one object costs the projector; the object is as it was sent.
func BenchmarkDriftIn(b *testing.B) {
	object, err := os.ReadFile(filepath.Join("testdata", "frontend", "object-m2.json"))
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "frontend", "work-m2.json"))
	if err != nil {
		b.Fatal(err)
	}
	work := &workv1alpha1.Work{}
	if err := json.Unmarshal(text, work); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := driftIn(&PlacementStatus{Scheduled: true}, KindDeployment.GVK(), work, object, ""); err != nil || d == nil || d.Drifted {
			b.Fatalf("got %+v, %v", d, err)
		}
	}
}
