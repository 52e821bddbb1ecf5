package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/pkg/quota"
)

// BenchmarkREST asks the same operations by GraphQL, REST, Connect and gRPC, in turns: the smallest one, and a page of 50
// objects with lists in lists. It reports how much CPU of the process the others take as a part of GraphQL's. That is the most
// that these add: resolvers take next to nothing here. Requests are made and answers received outside of the measurement, and
// nothing is sent over a connection.
func BenchmarkREST(b *testing.B) {
	handler := benchmarked(b)
	for _, op := range []struct {
		name, method, variables, path, message string
		atOnce                                 int
	}{
		{"small", "GetViewer", `{}`, "/api/v1/viewer", "", 50},
		{"page", "ListBoxes", `{"first": 50}`, "/api/v1/boxes?first=50", "\x08\x32", 2},
	} {
		method := "/kairship.v1.Kairship/" + op.method
		ways := []way{
			{"graphql", http.MethodPost, "/graphql", "application/json", fmt.Sprintf(`{"documentId": %q, "variables": %s}`, op.method, op.variables)},
			{"rest", http.MethodGet, op.path, "", ""},
			{"connect", http.MethodPost, method, "application/json", op.variables},
			{"connect-proto", http.MethodPost, method, "application/proto", op.message},
			{"grpc", http.MethodPost, method, "application/grpc", string([]byte{0, 0, 0, 0, byte(len(op.message))}) + op.message},
		}
		b.Run(op.name, func(b *testing.B) {
			used := make([]time.Duration, len(ways))
			for first := 0; b.Loop(); first++ {
				for i := range ways {
					at := (first + i) % len(ways) // None is always the one after another.
					used[at] += ways[at].serve(b, handler, op.atOnce)
				}
			}
			for i, w := range ways {
				b.ReportMetric(float64(used[i].Nanoseconds())/float64(b.N*op.atOnce), w.name+"-ns/op")
				if i > 0 {
					b.ReportMetric(100*(float64(used[i])/float64(used[0])-1), w.name+"-%-more")
				}
			}
		})
	}
}

// benchmarked serves the test schema without limits.
func benchmarked(b *testing.B) http.Handler {
	b.Helper()
	operations, service := definition(b)
	handler, err := server.New(server.Config{
		Schema:        testschema.NewExecutableSchema(testschema.Config{Resolvers: pages{page: boxes(50)}}),
		Authenticator: fakeAuth{}, Authorizer: fakeAuth{}, Logger: slog.New(slog.DiscardHandler),
		Operations: operations, RPC: service,
		Quotas: quota.New(quota.Limits{OperationsPerSecond: math.MaxInt32, OperationsBurst: math.MaxInt32, CostPerSecond: math.MaxInt32, CostBurst: math.MaxInt32}, nil),
	})
	if err != nil {
		b.Fatal(err)
	}
	return handler
}

// way is a request of an operation.
type way struct{ name, method, path, contentType, body string }

func (w way) request() *http.Request {
	r := httptest.NewRequest(w.method, w.path, io.NopCloser(strings.NewReader(w.body)))
	r.Header.Set("Authorization", "Bearer admin")
	if w.contentType != "" {
		r.Header.Set("Content-Type", w.contentType)
	}
	if w.name == "grpc" {
		r.ProtoMajor, r.Proto = 2, "HTTP/2.0"
	}
	return r
}

// serve is the CPU time that some requests take.
func (w way) serve(b *testing.B, handler http.Handler, atOnce int) time.Duration {
	b.Helper()
	requests, answers := make([]*http.Request, atOnce), make([]*discarded, atOnce)
	for i := range requests {
		requests[i], answers[i] = w.request(), &discarded{header: http.Header{}}
	}
	before := cpuTime(b)
	for i, r := range requests {
		handler.ServeHTTP(answers[i], r)
	}
	used := cpuTime(b) - before
	for _, answer := range answers {
		if status := answer.header.Get("Trailer:Grpc-Status"); answer.status != http.StatusOK || answer.bytes == 0 || strings.Trim(status, "0") != "" {
			b.Fatalf("%s: got %d with %d bytes, gRPC's status %s", w.name, answer.status, answer.bytes, status)
		}
	}
	return used
}

// cpuTime is the CPU time of the process: unlike that of a clock, it does not grow while others have the machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// discarded is an answer of which nothing is kept.
type discarded struct {
	header        http.Header
	status, bytes int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) WriteHeader(status int) { d.status = status }

func (d *discarded) Write(p []byte) (int, error) {
	if d.status == 0 {
		d.status = http.StatusOK
	}
	d.bytes += len(p)
	return len(p), nil
}

func (*discarded) Flush() {}

// pages answer with a page.
type pages struct {
	resolvers

	page *testschema.BoxPage
}

func (p pages) Query() testschema.QueryResolver { return p }

func (p pages) Boxes(context.Context, int) (*testschema.BoxPage, error) { return p.page, nil }

// boxes returns a page with so many objects.
func boxes(n int) *testschema.BoxPage {
	labels := []*testschema.Label{{Key: "app.kubernetes.io/name", Value: "frontend"}, {Key: "app.kubernetes.io/part-of", Value: "shop"}, {Key: "team", Value: "größer & <\"kleiner\">"}}
	list := make([]*testschema.Box, n)
	for i := range list {
		part := testschema.Part{Name: fmt.Sprint("member-", i), Color: testschema.ColorGreen, Count: i, Applied: true, Message: new("all pods of the workload are ready"), Labels: labels[:1]}
		list[i] = &testschema.Box{
			ID: fmt.Sprintf("V29ya2xvYWQ6YWxwaGE6c2hvcDpmcm9udGVuZA-%d", i), Name: fmt.Sprint("frontend-", i), Namespace: "shop", Color: testschema.ColorRed,
			Desired: 3, Ready: new(i), Weight: 0.25 * float64(i), Labels: labels, Images: slices.Repeat([]string{"registry.example.com/shop/frontend:1.7.2"}, 2),
			Parts: slices.Repeat([]*testschema.Part{&part}, 3),
		}
	}
	return &testschema.BoxPage{TotalCount: n, Nodes: list}
}
