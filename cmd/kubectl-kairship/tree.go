package main

import (
	"context"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/xlab/treeprint"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

func newTree(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "tree KIND/NAME",
		Short: "Show a workload with its policies, clusters and objects",
		Args:  cobra.ExactArgs(1),
		RunE: o.onWorkload(func(ctx context.Context, api client.API, of reference) error {
			answer, err := api.GetWorkload(ctx, connect.NewRequest(&kairshipv1.GetWorkloadRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, CustomKind: of.customKind,
			}))
			if err != nil {
				return err
			}
			o.warn(answer.Msg.GetErrors())
			fmt.Fprint(o.Out, treeOf(of, answer.Msg.GetResult()))
			return nil
		}),
	}
}

// treeOf is a workload, with what it was made into.
func treeOf(of reference, w *kairshipv1.Workload) string {
	root := treeprint.NewWithRoot(fmt.Sprintf("%s %s/%s in %s (%s)", of.kind, of.namespace, of.name, of.instance, w.GetHealth()))
	if policy := w.GetPolicy(); policy != nil {
		root.AddNode(policy.GetTypename() + " " + place(policy.GetNamespace(), policy.GetName()))
	}
	for _, override := range w.GetOverridePolicies() {
		root.AddNode(override.GetTypename() + " " + place(override.GetNamespace(), override.GetName()))
	}
	for _, placement := range w.GetPlacements() {
		cluster := root.AddBranch(fmt.Sprintf("cluster %s: %d of %d ready (%s)", placement.GetClusterName(), placement.GetReady(), placement.GetDesired(), placement.GetHealth()))
		if found := placement.GetObject(); found != nil {
			cluster.AddNode(fmt.Sprintf("%s %s: %s", found.GetKind(), place(found.GetNamespace(), found.GetName()), strings.Join(found.GetImages(), ", ")))
		}
		if placement.GetMessage() != "" {
			cluster.AddNode(placement.GetMessage())
		}
	}
	return root.String()
}

// place is a name with its namespace, where it has one.
func place(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
