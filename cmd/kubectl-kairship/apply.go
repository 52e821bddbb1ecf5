package main

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

func newApply(o *options) *cobra.Command {
	var manifests manifestFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "apply -f FILE -i INSTANCE",
		Short: "Apply manifests to an instance; all of them are tried before one is applied",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			instance, err := o.onlyInstance()
			if err != nil {
				return err
			}
			text, err := manifests.read(o.In)
			if err != nil {
				return err
			}
			api, err := o.api()
			if err != nil {
				return err
			}
			answer, err := api.ApplyManifests(cmd.Context(), connect.NewRequest(&kairshipv1.ApplyManifestsRequest{
				Instance: instance, Manifests: &text, Namespace: optional(o.namespace()), Force: &manifests.force, DryRun: &dryRun,
			}))
			if err != nil {
				return err
			}
			return o.applied(answer.Msg.GetResult())
		},
	}
	manifests.add(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Try it in the instance, and change nothing")
	return cmd
}

// applied reports each object, as kubectl does, and fails where not all were applied.
func (o *options) applied(result *kairshipv1.ApplyManifestsPayload) error {
	for _, of := range result.GetResults() {
		fmt.Fprintf(o.Out, "%s %s: %s", of.GetKind(), place(of.GetNamespace(), of.GetName()), of.GetAction())
		if problem := of.GetError(); problem != nil {
			fmt.Fprintf(o.Out, " (%s: %s)", problem.GetCode(), problem.GetMessage())
		}
		fmt.Fprintln(o.Out)
	}
	if !result.GetApplied() {
		return fmt.Errorf("not everything was applied")
	}
	if result.GetOperation() != "" {
		fmt.Fprintf(o.ErrOut, "Follow it: kubectl kairship wait %s\n", result.GetOperation())
	}
	return nil
}
