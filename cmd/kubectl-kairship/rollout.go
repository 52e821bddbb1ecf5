package main

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

func newRollout(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "rollout", Short: "Restart, pause, resume or undo a workload in all its clusters, or show how far it is"}
	var revision int32
	undo := o.action("undo", "Go back to an earlier revision", func(ctx context.Context, api client.API, of reference, dryRun *bool) error {
		request := &kairshipv1.RollbackWorkloadRequest{Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, DryRun: dryRun}
		if revision > 0 {
			request.ToRevision = &revision
		}
		_, err := api.RollbackWorkload(ctx, connect.NewRequest(request))
		return err
	})
	undo.Flags().Int32Var(&revision, "to-revision", 0, "The revision; the one before this unless told")
	cmd.AddCommand(
		o.action("restart", "Replace all pods, in all member clusters", func(ctx context.Context, api client.API, of reference, dryRun *bool) error {
			_, err := api.RestartWorkload(ctx, connect.NewRequest(&kairshipv1.RestartWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, DryRun: dryRun,
			}))
			return err
		}),
		o.action("pause", "Send no further changes to member clusters", func(ctx context.Context, api client.API, of reference, dryRun *bool) error {
			_, err := api.PauseWorkload(ctx, connect.NewRequest(&kairshipv1.PauseWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, DryRun: dryRun,
			}))
			return err
		}),
		o.action("resume", "Send changes again", func(ctx context.Context, api client.API, of reference, dryRun *bool) error {
			_, err := api.ResumeWorkload(ctx, connect.NewRequest(&kairshipv1.ResumeWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, DryRun: dryRun,
			}))
			return err
		}),
		undo, newRolloutStatus(o),
	)
	return cmd
}

// action is a command that changes a workload.
func (o *options) action(name, about string, do func(context.Context, client.API, reference, *bool) error) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: name + " KIND/NAME", Short: about, Args: cobra.ExactArgs(1),
		RunE: o.onWorkload(func(ctx context.Context, api client.API, of reference) error {
			if err := do(ctx, api, of, &dryRun); err != nil {
				return err
			}
			suffix := ""
			if dryRun {
				suffix = " (dry run)"
			}
			fmt.Fprintf(o.Out, "%s %s/%s in %s: %s%s\n", of.kind, of.namespace, of.name, of.instance, name, suffix)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Try it in the instance, and change nothing")
	return cmd
}

func newRolloutStatus(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "status KIND/NAME", Short: "Show how far a workload is in each cluster; exits with 1 while it is not healthy", Args: cobra.ExactArgs(1),
		RunE: o.onWorkload(func(ctx context.Context, api client.API, of reference) error {
			answer, err := api.GetWorkload(ctx, connect.NewRequest(&kairshipv1.GetWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, CustomKind: of.customKind,
			}))
			if err != nil {
				return err
			}
			o.warn(answer.Msg.GetErrors())
			w := answer.Msg.GetResult()
			var rows [][]string
			for _, p := range w.GetPlacements() {
				rows = append(rows, []string{p.GetClusterName(), fmt.Sprint(p.GetDesired()), fmt.Sprint(p.GetUpdated()), fmt.Sprint(p.GetReady()), p.GetHealth().String(), p.GetMessage()})
			}
			if err := writeTable(o.Out, []string{"CLUSTER", "DESIRED", "UPDATED", "READY", "HEALTH", "MESSAGE"}, rows, false); err != nil {
				return err
			}
			fmt.Fprintf(o.Out, "%s %s\n", w.GetHealth(), w.GetHealthMessage())
			if w.GetHealth() != kairshipv1.WorkloadHealth_HEALTHY {
				return errDiffers
			}
			return nil
		}),
	}
}
