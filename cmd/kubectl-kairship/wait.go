package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

// errReached ends a stream that has shown what was waited for.
var errReached = errors.New("reached")

// lookEvery is how often a workload that is waited for is read.
const lookEvery = 2 * time.Second

func newWait(o *options) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait KIND/NAME | OPERATION",
		Short: "Wait until a workload is healthy in all its clusters, or an operation has ended; exits with 1 where that takes longer",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := o.api()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if strings.Contains(args[0], "/") {
				err = o.waitForWorkload(ctx, api, args[0])
			} else {
				err = o.waitForOperation(ctx, api, args[0])
			}
			switch {
			case errors.Is(err, errReached):
				return nil
			case ctx.Err() != nil && cmd.Context().Err() == nil:
				fmt.Fprintf(o.ErrOut, "not reached within %s\n", timeout)
				return errDiffers
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long to wait")
	return cmd
}

// waitForWorkload waits until a workload is healthy.
func (o *options) waitForWorkload(ctx context.Context, api client.API, text string) error {
	of, err := o.workload(ctx, api, text)
	if err != nil {
		return err
	}
	last := ""
	look := func() error {
		answer, err := api.GetWorkload(ctx, connect.NewRequest(&kairshipv1.GetWorkloadRequest{
			Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, CustomKind: of.customKind,
		}))
		if err != nil {
			return err
		}
		w := answer.Msg.GetResult()
		if state := strings.TrimSpace(w.GetHealth().String() + " " + w.GetHealthMessage()); state != last {
			last = state
			fmt.Fprintln(o.Out, state)
		}
		if w.GetHealth() == kairshipv1.WorkloadHealth_HEALTHY && !w.GetFreshness().GetStale() {
			return errReached
		}
		return nil
	}
	// Events are not waited for: custom workloads have none, and the index may show the last change only after its event.
	for {
		if err := look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// waitForOperation waits until an operation has ended.
func (o *options) waitForOperation(ctx context.Context, api client.API, id string) error {
	last := ""
	return client.Follow(ctx, func(ctx context.Context, _ string) (*connect.ServerStreamForClient[kairshipv1.WatchOperationResponse], error) {
		return api.WatchOperation(ctx, connect.NewRequest(&kairshipv1.WatchOperationRequest{Operation: &id}))
	}, func(answer *kairshipv1.WatchOperationResponse) (string, error) {
		of := answer.GetResult()
		if state := strings.TrimSpace(of.GetState().String() + " " + of.GetMessage()); state != last {
			last = state
			fmt.Fprintln(o.Out, state)
		}
		switch of.GetState() {
		case kairshipv1.OperationState_SUCCEEDED:
			return "", errReached
		case kairshipv1.OperationState_FAILED:
			return "", fmt.Errorf("the operation has failed: %s", of.GetMessage())
		default:
			return "", nil
		}
	})
}
