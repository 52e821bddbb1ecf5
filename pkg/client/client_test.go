package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/api/v1/kairshipv1/kairshipv1connect"
	"github.com/kairship-io/kairship/pkg/client"
)

// fake answers a few operations.
type fake struct {
	kairshipv1connect.UnimplementedKairshipHandler

	// away is how many requests fail before one is answered.
	away   int
	asked  int
	tokens []string
	after  []string
}

func (f *fake) fail(header http.Header) error {
	f.asked++
	f.tokens = append(f.tokens, header.Get("Authorization"))
	if f.asked > f.away {
		return nil
	}
	err := connect.NewError(connect.CodeUnavailable, errors.New("away"))
	reason, _ := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: "INDEX_UNAVAILABLE", Metadata: map[string]string{"traceId": "7"}})
	retry, _ := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
	err.AddDetail(reason)
	err.AddDetail(retry)
	return err
}

func (f *fake) GetViewer(_ context.Context, req *connect.Request[kairshipv1.GetViewerRequest]) (*connect.Response[kairshipv1.GetViewerResponse], error) {
	if err := f.fail(req.Header()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&kairshipv1.GetViewerResponse{Result: &kairshipv1.Viewer{Username: new("alice")}}), nil
}

func (f *fake) ScaleWorkload(_ context.Context, req *connect.Request[kairshipv1.ScaleWorkloadRequest]) (*connect.Response[kairshipv1.ScaleWorkloadResponse], error) {
	return connect.NewResponse(&kairshipv1.ScaleWorkloadResponse{}), f.fail(req.Header())
}

func (f *fake) WatchWorkloads(_ context.Context, req *connect.Request[kairshipv1.WatchWorkloadsRequest], out *connect.ServerStream[kairshipv1.WatchWorkloadsResponse]) error {
	f.after = append(f.after, req.Msg.GetAfter())
	err := f.fail(req.Header())
	if sent := out.Send(&kairshipv1.WatchWorkloadsResponse{}); sent != nil {
		return sent
	}
	return err
}

func serve(t *testing.T, f *fake, change func(*client.Config)) client.API {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(kairshipv1connect.NewKairshipHandler(f))
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	cfg := client.Config{Server: server.URL + "/", Token: client.Token("t")}
	if change != nil {
		change(&cfg)
	}
	api, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestReadsAreRepeated(t *testing.T) {
	for name, grpc := range map[string]bool{"Connect": false, "gRPC": true} {
		t.Run(name, func(t *testing.T) {
			f := &fake{away: 2}
			api := serve(t, f, func(cfg *client.Config) { cfg.GRPC = grpc })
			answer, err := api.GetViewer(t.Context(), connect.NewRequest(&kairshipv1.GetViewerRequest{}))
			if err != nil || answer.Msg.GetResult().GetUsername() != "alice" || f.asked != 3 || f.tokens[2] != "Bearer t" {
				t.Errorf("got %v, %v after %d", answer, err, f.asked)
			}
			f.away = 100
			f.asked = 0
			_, err = api.GetViewer(t.Context(), connect.NewRequest(&kairshipv1.GetViewerRequest{}))
			if !client.Unavailable(err) || f.asked != 1+client.DefaultRetries || client.Reason(err) != "INDEX_UNAVAILABLE" || client.TraceID(err) != "7" {
				t.Errorf("got %v after %d", err, f.asked)
			}
		})
	}
}

// TestWritesAreNotRepeated has a write fail that may have been executed.
func TestWritesAreNotRepeated(t *testing.T) {
	f := &fake{away: 1}
	if _, err := serve(t, f, nil).ScaleWorkload(t.Context(), connect.NewRequest(&kairshipv1.ScaleWorkloadRequest{})); !client.Unavailable(err) || f.asked != 1 {
		t.Errorf("got %v after %d", err, f.asked)
	}
}

func TestFollow(t *testing.T) {
	f := &fake{away: 2}
	api := serve(t, f, nil)
	received := 0
	err := client.Follow(t.Context(), func(ctx context.Context, after string) (*connect.ServerStreamForClient[kairshipv1.WatchWorkloadsResponse], error) {
		return api.WatchWorkloads(ctx, connect.NewRequest(&kairshipv1.WatchWorkloadsRequest{After: new(after)}))
	}, func(*kairshipv1.WatchWorkloadsResponse) (string, error) {
		received++
		return "c", nil
	})
	if err != nil || received != 3 || f.after[0] != "" || f.after[2] != "c" {
		t.Errorf("got %v, %d, %v", err, received, f.after)
	}
}

func TestAddresses(t *testing.T) {
	for server, ok := range map[string]bool{
		"https://kairship.example.com": true, "http://127.0.0.1:8080": true, "http://localhost": true,
		"http://kairship.example.com": false, "kairship.example.com": false, "ftp://a": false, "": false,
	} {
		if _, err := client.New(client.Config{Server: server, Token: client.Token("t")}); (err == nil) != ok {
			t.Errorf("%s: %v", server, err)
		}
	}
}

// TestInvoke calls methods by their names.
func TestInvoke(t *testing.T) {
	f := &fake{away: 1}
	mux := http.NewServeMux()
	mux.Handle(kairshipv1connect.NewKairshipHandler(f))
	server := httptest.NewServer(mux)
	defer server.Close()
	invoker, err := client.NewInvoker(client.Config{Server: server.URL, Token: client.Token("t")})
	if err != nil {
		t.Fatal(err)
	}
	methods := client.Service().Methods()
	answer, err := invoker.Invoke(t.Context(), methods.ByName("GetViewer"), &kairshipv1.GetViewerRequest{})
	if viewer, ok := answer.(*kairshipv1.GetViewerResponse); err != nil || !ok || viewer.GetResult().GetUsername() != "alice" || f.asked != 2 {
		t.Errorf("got %v, %v after %d", answer, err, f.asked)
	}
	f.asked = 0
	if _, err := invoker.Invoke(t.Context(), methods.ByName("ScaleWorkload"), &kairshipv1.ScaleWorkloadRequest{}); !client.Unavailable(err) || f.asked != 1 {
		t.Errorf("a write: %v after %d", err, f.asked)
	}
}

// TestTokenFile replaces a token.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	f := &fake{}
	api := serve(t, f, func(cfg *client.Config) { cfg.Token = client.TokenFile(path) })
	ask := func() error {
		_, err := api.GetViewer(t.Context(), connect.NewRequest(&kairshipv1.GetViewerRequest{}))
		return err
	}
	if err := ask(); connect.CodeOf(err) != connect.CodeUnauthenticated || f.asked != 0 {
		t.Errorf("without a file: %v", err)
	}
	for i, token := range []string{"a", "b"} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ask(); err != nil || f.tokens[i] != "Bearer "+token {
			t.Errorf("got %v, %v", err, f.tokens)
		}
	}
}
