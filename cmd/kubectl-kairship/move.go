package main

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

func newMove(o *options) *cobra.Command {
	var from, to []string
	var dryRun, cancel bool
	cmd := &cobra.Command{
		Use:   "move KIND/NAME --from CLUSTER --to CLUSTER",
		Short: "Move a workload to other member clusters, by changing its policy",
		Args:  cobra.ExactArgs(1),
		RunE: o.onWorkload(func(ctx context.Context, api client.API, of reference) error {
			answer, err := api.MoveWorkload(ctx, connect.NewRequest(&kairshipv1.MoveWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, From: from, To: to, Cancel: &cancel, DryRun: &dryRun,
			}))
			if err != nil {
				return err
			}
			moved := answer.Msg.GetResult()
			fmt.Fprintf(o.Out, "policy %s: %s, then %s\n", place(moved.GetPolicyNamespace(), moved.GetPolicyName()),
				strings.Join(moved.GetClustersDuring(), ", "), strings.Join(moved.GetClustersAfter(), ", "))
			for _, assumption := range moved.GetPreview().GetAssumptions() {
				fmt.Fprintln(o.Out, "- "+assumption)
			}
			if moved.GetOperation() != "" {
				fmt.Fprintf(o.ErrOut, "Follow it: kubectl kairship wait %s\n", moved.GetOperation())
			}
			return nil
		}),
	}
	cmd.Flags().StringSliceVar(&from, "from", nil, "The clusters to leave")
	cmd.Flags().StringSliceVar(&to, "to", nil, "The clusters to go to")
	cmd.Flags().BoolVar(&cancel, "cancel", false, "Go back to the clusters of before")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Show what would move, and change nothing")
	return cmd
}
