package grpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// BenchmarkCPU measures what a list takes of the server, by each way; the ratios are what counts.
func BenchmarkCPU(b *testing.B) {
	f := fleet.Open(b)
	token := f.Token(b, "admin")
	post := func(path, contentType, body string) error {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, f.KairshipURL+path, bytes.NewBufferString(body))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", contentType)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if n, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %d bytes, %w", answer.Status, n, err)
		}
		return nil
	}
	conn := dial(b, f)
	text, err := json.Marshal(map[string]any{"documentId": "ListWorkloads", "variables": map[string]any{"first": 100}})
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		ask  func() error
	}{
		{"GraphQL", func() error { return post("/graphql", "application/json", string(text)) }},
		{"Connect", func() error { return post(service+"ListWorkloads", "application/json", `{"first": 100}`) }},
		{"gRPC", func() error {
			var answer kairshipv1.ListWorkloadsResponse
			return conn.Invoke(b.Context(), service+"ListWorkloads", &kairshipv1.ListWorkloadsRequest{First: new(int32(100))}, &answer, as(b, f, "admin"))
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			before, _ := f.Usage(b, "kairship-apiserver")
			for b.Loop() {
				if err := way.ask(); err != nil {
					b.Fatal(err)
				}
			}
			after, _ := f.Usage(b, "kairship-apiserver")
			b.ReportMetric(float64((after-before)/time.Microsecond)/float64(b.N), "server-µs/op")
		})
	}
}
