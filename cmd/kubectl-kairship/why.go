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

func newWhy(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "why KIND/NAME",
		Short:   "Explain where the propagation of a workload stands, and what to do",
		Example: "  kubectl kairship why deployment/stuck -n shop",
		Args:    cobra.ExactArgs(1),
		RunE: o.onWorkload(func(ctx context.Context, api client.API, of reference) error {
			answer, err := api.ExplainWorkload(ctx, connect.NewRequest(&kairshipv1.ExplainWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, CustomKind: of.customKind,
			}))
			if err != nil {
				return err
			}
			o.warn(answer.Msg.GetErrors())
			o.explain(of, answer.Msg.GetResult())
			return nil
		}),
	}
}

// explain writes each stage, with what is known about it.
func (o *options) explain(of reference, why *kairshipv1.Explanation) {
	fmt.Fprintf(o.Out, "%s %s/%s in %s: %s, %s\n", of.kind, of.namespace, of.name, of.instance, why.GetStage(), why.GetState())
	if why.GetSummary() != "" {
		fmt.Fprintf(o.Out, "  %s\n", why.GetSummary())
	}
	for _, step := range why.GetSteps() {
		fmt.Fprintf(o.Out, "\n%-10s %-10s %s\n", step.GetStage(), step.GetState(), step.GetSummary())
		for _, reason := range step.GetReasons() {
			at := ""
			if reason.GetClusterName() != "" {
				at = reason.GetClusterName() + ": "
			}
			fmt.Fprintf(o.Out, "  - %s%s (%s)\n", at, strings.TrimSpace(reason.GetMessage()), reason.GetCode())
			if reason.GetRemedy() != "" {
				fmt.Fprintf(o.Out, "    %s\n", reason.GetRemedy())
			}
		}
	}
}
