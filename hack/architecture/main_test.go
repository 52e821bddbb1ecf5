package main

import "testing"

// TestAgainstLayers finds an import in each direction.
func TestAgainstLayers(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     int
	}{
		{"pkg/fleet/cluster/service.go", module + "pkg/controllers", 1},
		{"pkg/controllers/clusterimport/join.go", module + "pkg/index", 1},
		{"pkg/apis/kairship/v1alpha1/types.go", module + "pkg/peer", 1},
		{"pkg/apis/kairship/v1alpha1/types.go", module + "pkg/apis/crdcompat", 0},
		{"pkg/indexed/x.go", module + "pkg/fleet", 0},
		{"graph/resolvers/cluster.resolvers.go", module + "pkg/fleet/cluster", 0},
		{"pkg/live/hub.go", "k8s.io/api/core/v1", 0},
	} {
		if got := againstLayers(&file{path: tt.from, imports: []string{tt.to}}); got != tt.want {
			t.Errorf("%s imports %s: got %d, want %d", tt.from, tt.to, got, tt.want)
		}
	}
}
