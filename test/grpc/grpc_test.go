package grpc

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// frontend is a workload of instance alpha.
func frontend(replicas int32, dryRun bool) *kairshipv1.ScaleWorkloadRequest {
	return &kairshipv1.ScaleWorkloadRequest{
		Instance: new("alpha"), Namespace: new("shop"), Kind: kairshipv1.WorkloadKind_DEPLOYMENT, Name: new("frontend"),
		Replicas: new(replicas), DryRun: new(dryRun),
	}
}

// TestMainJob finds what is not well, and why, with the official client.
func TestMainJob(t *testing.T) {
	f := fleet.Open(t)
	conn := dial(t, f)
	var list kairshipv1.ListWorkloadsResponse
	request := &kairshipv1.ListWorkloadsRequest{Health: []kairshipv1.WorkloadHealth_Value{kairshipv1.WorkloadHealth_UNSCHEDULED}}
	if err := conn.Invoke(t.Context(), service+"ListWorkloads", request, &list, as(t, f, "alice")); err != nil {
		t.Fatal(err)
	}
	if len(list.GetResult().GetNodes()) == 0 || list.GetResult().GetNodes()[0].GetName() != "stuck" || list.GetResult().GetFreshness().Stale == nil {
		t.Fatalf("got %v", &list)
	}
	var why kairshipv1.ExplainWorkloadResponse
	found := list.GetResult().GetNodes()[0]
	explain := &kairshipv1.ExplainWorkloadRequest{Instance: found.GetInstance().Name, Namespace: found.Namespace, Kind: found.GetKind(), Name: found.Name}
	if err := conn.Invoke(t.Context(), service+"ExplainWorkload", explain, &why, as(t, f, "alice")); err != nil {
		t.Fatal(err)
	}
	for _, step := range why.GetResult().GetSteps() {
		for _, reason := range step.GetReasons() {
			if reason.GetCode() == kairshipv1.ExplanationCode_NO_CLUSTER_FITS && reason.GetRemedy() != "" {
				return
			}
		}
	}
	t.Errorf("got %v", &why)
}

// TestWrites scales a workload, as those who may and those who may not.
func TestWrites(t *testing.T) {
	f := fleet.Open(t)
	conn := dial(t, f)
	scale := func(person string, request *kairshipv1.ScaleWorkloadRequest) (*kairshipv1.ScaleWorkloadResponse, error) {
		var answer kairshipv1.ScaleWorkloadResponse
		return &answer, conn.Invoke(t.Context(), service+"ScaleWorkload", request, &answer, as(t, f, person))
	}
	if answer, err := scale("alice", frontend(2, true)); err != nil || answer.GetResult().GetWorkload().GetName() != "frontend" {
		t.Errorf("a dry run: %v, %v", answer, err)
	}
	for _, person := range []string{"bob", "mallory"} {
		if _, err := scale(person, frontend(2, false)); status.Code(err) != codes.NotFound && status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v", person, err)
		}
	}
	moved := frontend(2, true)
	moved.ResourceVersion = new("1")
	if _, err := scale("alice", moved); status.Code(err) != codes.Aborted || reasonOf(err).GetMetadata()["currentResourceVersion"] == "" {
		t.Errorf("another version: %v", err)
	}
	// Without the number of replicas, nothing is scaled to none.
	without := frontend(0, false)
	without.Replicas = nil
	if _, err := scale("alice", without); status.Code(err) != codes.InvalidArgument {
		t.Errorf("without replicas: %v", err)
	}
	wrong := frontend(2, true)
	wrong.Kind = 1000
	if _, err := scale("alice", wrong); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a kind that is none: %v", err)
	}
}

// TestStreams receives the first event of a subscription with each protocol of the generated client, and who may not sees none.
func TestStreams(t *testing.T) {
	f := fleet.Open(t)
	for name, grpc := range map[string]bool{"Connect": false, "gRPC": true} {
		t.Run(name, func(t *testing.T) {
			api, err := client.New(client.Config{Server: f.KairshipURL, Token: client.Token(f.Token(t, "alice")), GRPC: grpc})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			stream, err := api.WatchWorkloads(ctx, connect.NewRequest(&kairshipv1.WatchWorkloadsRequest{Instances: []string{"alpha"}}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			if !stream.Receive() || stream.Msg().GetResult() == nil {
				t.Errorf("got %v, %v", stream.Msg(), stream.Err())
			}
		})
	}
	conn := dial(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, service+"WatchWorkloads", as(t, f, "mallory"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(&kairshipv1.WatchWorkloadsRequest{Instances: []string{"alpha"}}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var event kairshipv1.WatchWorkloadsResponse
	// As for an instance that does not exist: the state is complete, and nothing was in it.
	if err := stream.RecvMsg(&event); err != nil || event.GetResult().GetType() != kairshipv1.ChangeType_SYNCED || event.GetResult().GetWorkload() != nil {
		t.Errorf("mallory: %v, %v", &event, err)
	}
}

// TestIdentity calls without a token, and with a wrong one. The health service asks for none.
func TestIdentity(t *testing.T) {
	f := fleet.Open(t)
	conn := dial(t, f)
	for name, options := range map[string][]grpc.CallOption{"none": nil, "wrong": {grpc.PerRPCCredentials(bearer("wrong"))}} {
		err := conn.Invoke(t.Context(), service+"GetViewer", &kairshipv1.GetViewerRequest{}, &kairshipv1.GetViewerResponse{}, options...)
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	answer, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", answer, err)
	}
}

// TestDeadline ends a request with its deadline.
func TestDeadline(t *testing.T) {
	f := fleet.Open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := dial(t, f).Invoke(ctx, service+"ListWorkloads", &kairshipv1.ListWorkloadsRequest{}, &kairshipv1.ListWorkloadsResponse{}, as(t, f, "admin"))
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}
