package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	named "github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/protofile"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/graph/server/readiness"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
)

// definition compiles the definition of the operations of the test schema.
func definition(t testing.TB) ([]*named.Operation, protoreflect.ServiceDescriptor) {
	t.Helper()
	schema := testschema.NewExecutableSchema(testschema.Config{}).Schema()
	operations, err := named.Load(restFiles, schema)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protofile.Of(operations, schema, protofile.Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"test.proto": text}),
	})}
	files, err := compiler.Compile(t.Context(), "test.proto")
	if err != nil {
		t.Fatal(err)
	}
	return operations, files[0].Services().ByName(protofile.Service)
}

func startRPC(t *testing.T, errs map[string]error, change func(*server.Config)) (testServer, protoreflect.ServiceDescriptor) {
	t.Helper()
	operations, service := definition(t)
	return start(t, errs, func(cfg *server.Config) {
		cfg.Operations, cfg.RPC = operations, service
		if change != nil {
			change(cfg)
		}
	}), service
}

// h2c speaks HTTP/2 without TLS.
func h2c(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// protocols are the ways to call a method.
var protocols = map[string]connect.ClientOption{
	"gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(), "Connect": connect.WithClientOptions(), "Connect, JSON": connect.WithProtoJSON(),
}

// method is a client of a method, whose messages are made of their descriptors.
func method(t *testing.T, s testServer, service protoreflect.ServiceDescriptor, name protoreflect.Name, options ...connect.ClientOption) (*connect.Client[dynamicpb.Message, dynamicpb.Message], func(text string) *connect.Request[dynamicpb.Message]) {
	t.Helper()
	of := service.Methods().ByName(name)
	initialize := connect.WithResponseInitializer(func(_ connect.Spec, m any) error {
		*m.(*dynamicpb.Message) = *dynamicpb.NewMessage(of.Output())
		return nil
	})
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](h2c(t), s.URL+"/kairship.v1.Kairship/"+string(name), append(options, initialize)...)
	return client, func(text string) *connect.Request[dynamicpb.Message] {
		m := dynamicpb.NewMessage(of.Input())
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		request := connect.NewRequest(m)
		request.Header().Set("Authorization", "Bearer admin")
		return request
	}
}

// compact is a message as JSON without spaces.
func compact(t *testing.T, m *dynamicpb.Message) string {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return marshal(t, v)
}

func TestRPC(t *testing.T) {
	s, service := startRPC(t, map[string]error{"broken": &apierror.Error{Code: apierror.CodeConflict, Message: "it moved", CurrentVersion: "7"}}, nil)
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			viewer, of := method(t, s, service, "GetViewer", protocol)
			got, err := viewer.CallUnary(t.Context(), of(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if text := compact(t, got.Msg); text != `{"result":{"groups":["system:authenticated"],"username":"admin"}}` {
				t.Errorf("got %s", text)
			}
			change, of := method(t, s, service, "Change", protocol)
			if got, err = change.CallUnary(t.Context(), of(`{"name": "a"}`)); err != nil || compact(t, got.Msg) != `{"result":{"__typename":"Changed","token":"token-a"}}` {
				t.Errorf("a change: %v, %v", got, err)
			}
			_, err = change.CallUnary(t.Context(), of(`{"name": "broken"}`))
			failed, ok := errors.AsType[*connect.Error](err)
			if !ok || failed.Code() != connect.CodeAborted || failed.Message() != "it moved" {
				t.Fatalf("got %v", err)
			}
			reason := detail[*errdetails.ErrorInfo](t, failed)
			if reason.GetReason() != "CONFLICT" || reason.GetDomain() != "kairship.io" || reason.GetMetadata()["currentResourceVersion"] != "7" || reason.GetMetadata()["traceId"] == "" {
				t.Errorf("got %v", reason)
			}
			_, err = change.CallUnary(t.Context(), of(`{}`))
			if failed, ok = errors.AsType[*connect.Error](err); !ok || failed.Code() != connect.CodeInvalidArgument {
				t.Fatalf("without what is required: %v", err)
			}
			if wrong := detail[*errdetails.BadRequest](t, failed).GetFieldViolations(); len(wrong) != 1 || wrong[0].GetField() != "name" {
				t.Errorf("got %v", wrong)
			}
		})
	}
	if lines := s.log.String(); !strings.Contains(lines, `"status":409`) {
		t.Errorf("the log has no status of what failed: %s", lines)
	}
}

// detail is the detail of an error that has this type.
func detail[T any](t *testing.T, err *connect.Error) T {
	t.Helper()
	for _, d := range err.Details() {
		if value, err := d.Value(); err == nil {
			if of, ok := value.(T); ok {
				return of
			}
		}
	}
	t.Fatalf("%v has no %T", err, *new(T))
	return *new(T)
}

// TestRPCRefuses sends what no client of the definition sends, or may not send.
func TestRPCRefuses(t *testing.T) {
	s, _ := startRPC(t, nil, nil)
	const viewer, change = "/kairship.v1.Kairship/GetViewer", "/kairship.v1.Kairship/Change"
	for name, c := range map[string]struct {
		call   call
		status int
		want   string
	}{
		"no identity":              {call{path: viewer, body: `{}`, token: "none"}, 401, `"code":"unauthenticated"`},
		"a wrong token":            {call{path: viewer, body: `{}`, token: "wrong"}, 401, "the token is not valid"},
		"who is not served":        {call{path: viewer, body: `{}`, token: "mallory"}, 403, `"code":"permission_denied"`},
		"another user":             {call{path: viewer, body: `{}`, header: http.Header{"Impersonate-User": {"bob"}}}, 400, `"code":"invalid_argument"`},
		"a page of another site":   {call{path: viewer, body: `{}`, header: http.Header{"Origin": {"https://evil.example"}}}, 403, "pages of other sites"},
		"a GET":                    {call{method: "GET", path: viewer}, 405, ""},
		"a form":                   {call{path: change, body: `name=a`, contentType: "application/x-www-form-urlencoded"}, 415, ""},
		"plain text":               {call{path: change, body: `{"name": "a"}`, contentType: "text/plain"}, 415, ""},
		"a field that is none":     {call{path: change, body: `{"name": "a", "dryRun": true}`}, 400, "unknown field"},
		"a type that is another":   {call{path: change, body: `{"name": 1}`}, 400, `"code":"invalid_argument"`},
		"an empty body":            {call{path: change}, 400, "the body is empty"},
		"an unknown binary field":  {call{path: change, body: "\x0a\x01a\x78\x01", contentType: "application/proto"}, 400, "has a field that this server does not know"},
		"a body that is too large": {call{path: change, body: `{"name": "` + strings.Repeat("a", 1<<21) + `"}`}, 429, "resource_exhausted"},
		"no such method":           {call{path: "/kairship.v1.Kairship/Nothing", body: `{}`}, 501, `"code":"unimplemented"`},
		"no method, no identity":   {call{path: "/kairship.v1.Kairship/Nothing", body: `{}`, token: "none"}, 401, `"code":"unauthenticated"`},
		"no type of content":       {call{path: viewer, body: `{}`, token: "none", contentType: "none"}, 401, "the token is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.do(t, c.call); got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("got %d: %s", got.status, got.body)
			}
		})
	}
	if s.changes.has("a") {
		t.Error("something was changed")
	}
	if got := s.do(t, call{path: "/grpc.health.v1.Health/Check", body: `{"service": "` + strings.Repeat("a", 1<<13) + `"}`, token: "none"}); got.status != http.StatusTooManyRequests {
		t.Errorf("a large request to the health service: %d: %s", got.status, got.body)
	}
	s.log.b.Reset()
	got := s.do(t, call{path: viewer, body: "\x00\x00\x00\x00\x01\xff", contentType: "application/grpc"})
	if lines := s.log.String(); got.status != http.StatusOK || !strings.Contains(lines, `"outcome":"refused"`) {
		t.Errorf("what cannot be read: %d, logged as %s", got.status, lines)
	}
}

// TestRPCLimits calls more methods than a user may.
func TestRPCLimits(t *testing.T) {
	s, service := startRPC(t, nil, func(cfg *server.Config) {
		cfg.Quotas = quota.New(quota.Limits{OperationsPerSecond: 1, OperationsBurst: 1}, nil)
	})
	viewer, of := method(t, s, service, "GetViewer", connect.WithGRPC())
	if _, err := viewer.CallUnary(t.Context(), of(`{}`)); err != nil {
		t.Fatal(err)
	}
	_, err := viewer.CallUnary(t.Context(), of(`{}`))
	failed, ok := errors.AsType[*connect.Error](err)
	if !ok || failed.Code() != connect.CodeResourceExhausted || detail[*errdetails.RetryInfo](t, failed).GetRetryDelay().AsDuration() < time.Second {
		t.Errorf("got %v", err)
	}
}

// TestRPCWithTrustedDocuments calls a method where only trusted documents are executed.
func TestRPCWithTrustedDocuments(t *testing.T) {
	s, service := startRPC(t, nil, func(cfg *server.Config) {
		cfg.TrustedDocuments = func() document.Trusted { return document.Trusted{} }
	})
	viewer, of := method(t, s, service, "GetViewer")
	if _, err := viewer.CallUnary(t.Context(), of(`{}`)); err != nil {
		t.Error(err)
	}
}

// TestRPCDeadline ends an operation with the deadline of its client.
func TestRPCDeadline(t *testing.T) {
	s, service := startRPC(t, nil, nil)
	change, of := method(t, s, service, "Change", connect.WithGRPC())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := change.CallUnary(ctx, of(`{"name": "slow"}`)); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("got %v", err)
	}
	// The resolver waits for the end of its context, and may begin after its client has gone.
	poll.True(t, patience, "the request is over", func() bool { return strings.Contains(s.log.String(), `"operation":"Change"`) })
	s.busy.Wait()
}

// TestRPCStreams follows subscriptions by each protocol: to their end, resumed, refused, and left.
func TestRPCStreams(t *testing.T) {
	s, service := startRPC(t, nil, nil)
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			watch, of := method(t, s, service, "WatchEvents", protocol)
			follow := func(ctx context.Context, request string) ([]string, error) {
				stream, err := watch.CallServerStream(ctx, of(request))
				if err != nil {
					return nil, err
				}
				defer func() { _ = stream.Close() }()
				var got []string
				for stream.Receive() {
					got = append(got, compact(t, stream.Msg()))
					if strings.Contains(request, "forever") {
						break
					}
				}
				return got, stream.Err()
			}
			got, err := follow(t.Context(), `{"topic": "three"}`)
			if err != nil || len(got) != 3 || got[0] != `{"result":{"cursor":"c1","n":1}}` {
				t.Errorf("got %v, %v", got, err)
			}
			if got, err = follow(t.Context(), `{"topic": "three", "after": "c2"}`); err != nil || len(got) != 1 {
				t.Errorf("after the second: %v, %v", got, err)
			}
			if _, err = follow(t.Context(), `{"topic": "refused"}`); connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("refused: %v", err)
			}
			if _, err = follow(t.Context(), `{"topic": "panics"}`); connect.CodeOf(err) != connect.CodeInternal || strings.Contains(err.Error(), "secret") {
				t.Errorf("a panic: %v", err)
			}
			if got, err = follow(t.Context(), `{"topic": "fails"}`); len(got) != 1 || err == nil {
				t.Errorf("one that fails later: %v, %v", got, err)
			}
			if got, err = follow(t.Context(), `{"topic": "forever"}`); len(got) != 1 || err != nil {
				t.Errorf("one that was left: %v, %v", got, err)
			}
		})
	}
	s.busy.Wait()
	poll.True(t, patience, "all subscriptions end", func() bool { return s.feed.running.Load() == 0 })
	if lines := s.log.String(); !strings.Contains(lines, `"via":"grpc"`) || !strings.Contains(lines, "CLIENT_GONE") {
		t.Errorf("the log has no line of the streams: %s", lines)
	}
}

// TestRPCStreamsEndWithTheServer ends streams so that their clients begin them again.
func TestRPCStreamsEndWithTheServer(t *testing.T) {
	s, service := startRPC(t, nil, nil)
	watch, of := method(t, s, service, "WatchEvents", connect.WithGRPC())
	stream, err := watch.CallServerStream(t.Context(), of(`{"topic": "forever"}`))
	if err != nil || !stream.Receive() {
		t.Fatalf("got %v, %v", err, stream.Err())
	}
	defer func() { _ = stream.Close() }()
	if err := s.handler.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stream.Receive() {
		t.Fatalf("another event: %v", stream.Msg())
	}
	failed, ok := errors.AsType[*connect.Error](stream.Err())
	if !ok || failed.Code() != connect.CodeUnavailable || detail[*errdetails.ErrorInfo](t, failed).GetReason() != "SERVER_STOPPING" {
		t.Errorf("got %v", stream.Err())
	}
	detail[*errdetails.RetryInfo](t, failed)
}

// TestRPCStreamsEndForSlowClients has a client read nothing of what it follows.
func TestRPCStreamsEndForSlowClients(t *testing.T) {
	s, service := startRPC(t, nil, func(cfg *server.Config) { cfg.Streams.WriteTimeout = 100 * time.Millisecond })
	watch, of := method(t, s, service, "WatchTexts", connect.WithGRPC(), connect.WithAcceptCompression("gzip", nil, nil))
	stream, err := watch.CallServerStream(t.Context(), of(`{"topic": "flood"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	s.busy.Wait()
	if lines := s.log.String(); !strings.Contains(lines, "TOO_SLOW") {
		t.Errorf("the log has: %s", lines)
	}
}

// TestRPCReflection asks for the definition.
func TestRPCReflection(t *testing.T) {
	s, _ := startRPC(t, nil, nil)
	client := grpcreflect.NewClient(h2c(t), s.URL, connect.WithGRPC())
	stream := client.NewStream(t.Context(), grpcreflect.WithRequestHeaders(http.Header{"Authorization": {"Bearer admin"}}))
	defer func() { _, _ = stream.Close() }()
	names, err := stream.ListServices()
	if err != nil || len(names) != 2 || !slices.Contains(names, "kairship.v1.Kairship") {
		t.Errorf("got %v, %v", names, err)
	}
	for _, name := range []protoreflect.FullName{"kairship.v1.GetViewerRequest", "google.rpc.ErrorInfo"} {
		if files, err := stream.FileContainingSymbol(name); err != nil || len(files) == 0 {
			t.Errorf("got %v, %v", files, err)
		}
	}
	hidden := client.NewStream(t.Context())
	defer func() { _, _ = hidden.Close() }()
	if _, err := hidden.ListServices(); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("without an identity: %v", err)
	}
}

// TestRPCHealth asks whether the server is ready.
func TestRPCHealth(t *testing.T) {
	failing := false
	s, _ := startRPC(t, nil, func(cfg *server.Config) {
		cfg.Now = nil
		cfg.Checks = []readiness.Check{{Name: "all", Required: true, Run: func(context.Context) error {
			if failing {
				return errors.New("away")
			}
			return nil
		}}}
	})
	ask := func(body string) reply {
		return s.do(t, call{path: "/grpc.health.v1.Health/Check", body: body, token: "none"})
	}
	if got := ask(`{"service": "kairship.v1.Kairship"}`); got.body != `{"status":"SERVING_STATUS_SERVING"}` {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	if got := ask(`{"service": "other"}`); got.status != http.StatusNotFound {
		t.Errorf("another service: %d: %s", got.status, got.body)
	}
	failing = true
	time.Sleep(1100 * time.Millisecond) // A report is one second old at most.
	if got := ask(`{}`); got.body != `{"status":"SERVING_STATUS_NOT_SERVING"}` {
		t.Errorf("got %d: %s", got.status, got.body)
	}
}
