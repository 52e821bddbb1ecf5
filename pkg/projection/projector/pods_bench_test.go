package projector

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

func realPod(b *testing.B) string {
	b.Helper()
	text, err := os.ReadFile("../../../test/bench/testdata/scale/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	if !json.Valid(text) {
		b.Fatal("the pod is no JSON")
	}
	return strings.ReplaceAll(string(text), "@@created@@", "2026-01-02T03:04:05Z")
}

// BenchmarkObserved compares decoding what rows are made of with decoding whole pods.
func BenchmarkObserved(b *testing.B) {
	text := []byte(realPod(b))
	for name, into := range map[string]func() any{"lean": func() any { return &pod.Observed{} }, "whole": func() any { return &corev1.Pod{} }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := jsonv2.Unmarshal(text, into(), index.Lenient); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPods builds the rows of 20,000 pods, builds them again without a change, and compares them.
func BenchmarkPods(b *testing.B) {
	const pods, chunk = 20_000, 1000
	index := projectiontest.Postgres(b)
	db, err := projection.Open(index.DSN)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	p := &Projector{DB: db, Log: logr.Discard(), Metrics: NewMetrics()}
	if err := db.Install(b.Context()); err != nil {
		b.Fatal(err)
	}
	text := strings.ReplaceAll(realPod(b), "'", "''")
	for at := 0; at < pods; at += chunk {
		index.Exec(b, fmt.Sprintf(`INSERT INTO resources ("group", version, resource, kind, cluster, namespace, name, uid, resource_version, owner_uid, object, created_at, synced_at)
			SELECT '', 'v1', 'pods', 'Pod', 'm' || i %% 20, 'namespace-' || i %% 50, 'web-' || i, 'uid-' || i, '1', '', jsonb_set(replace('%s', 'registry.example.com/', 'registry.example.com/' || i %% 500 || '/')::jsonb, '{metadata,name}', to_jsonb('web-' || i)), now(), now() FROM generate_series(%d, %d) AS i`,
			text, at, at+chunk-1))
	}
	index.Exec(b, "DELETE FROM kairship.pod_outbox")
	index.Exec(b, "VACUUM ANALYZE")
	for name, prepare := range map[string]string{"new": "TRUNCATE kairship.pod", "again": "SELECT 1"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				index.Exec(b, prepare)
				if err := db.RebuildPods(b.Context()); err != nil {
					b.Fatal(err)
				}
				for taken := 1; taken > 0; {
					if taken, err = p.StepPods(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(pods)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			if n, err := p.checkPods(b.Context(), func() error { return nil }); err != nil || n != 0 {
				b.Fatal(n, err)
			}
		}
	})
}
