package client_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

// list is the example of docs/grpc.md, which test/grpc compares with it.
func list(ctx context.Context, server, tokenFile string) error {
	api, err := client.New(client.Config{Server: server, Token: client.TokenFile(tokenFile)})
	if err != nil {
		return err
	}
	answer, err := api.ListWorkloads(ctx, connect.NewRequest(&kairshipv1.ListWorkloadsRequest{
		Health: []kairshipv1.WorkloadHealth_Value{kairshipv1.WorkloadHealth_UNSCHEDULED},
	}))
	if err != nil {
		return fmt.Errorf("%s: %w", client.Reason(err), err)
	}
	for _, workload := range answer.Msg.GetResult().GetNodes() {
		fmt.Println(workload.GetInstance().GetName(), workload.GetNamespace(), workload.GetName())
	}
	return nil
}

// TestExample lists what the fake answers.
func TestExample(t *testing.T) {
	if err := list(t.Context(), "https://127.0.0.1:1", "no-such-file"); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("got %v", err)
	}
}
