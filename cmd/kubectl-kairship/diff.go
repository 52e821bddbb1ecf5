package main

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

// effects are those that a diff shows.
var effects = []kairshipv1.ManifestEffect_Value{kairshipv1.ManifestEffect_FAILED, kairshipv1.ManifestEffect_CHANGED, kairshipv1.ManifestEffect_CREATED}

func newDiff(o *options) *cobra.Command {
	return o.compare("diff", "Show the fields that applying manifests would change in each member cluster; exits with 1 where something would change",
		func(result *kairshipv1.ManifestPreview) {
			for _, item := range result.GetItems() {
				fmt.Fprintf(o.Out, "%s: %s %s %s\n", item.GetClusterName(), item.GetKind(), place(item.GetNamespace(), item.GetName()), item.GetEffect())
				if item.GetMessage() != "" {
					fmt.Fprintf(o.Out, "  %s\n", item.GetMessage())
				}
				for _, field := range item.GetFields() {
					fmt.Fprintf(o.Out, "  %s\n", field.GetPath())
					if field.Before != nil {
						fmt.Fprintf(o.Out, "  - %s\n", field.GetBefore())
					}
					if field.After != nil {
						fmt.Fprintf(o.Out, "  + %s\n", field.GetAfter())
					}
				}
				if more := int(item.GetTotalFields()) - len(item.GetFields()); more > 0 {
					fmt.Fprintf(o.Out, "  and %d more fields\n", more)
				}
			}
		})
}

func newPreview(o *options) *cobra.Command {
	return o.compare("preview", "Count what applying manifests would change in member clusters; exits with 1 where something would change",
		func(result *kairshipv1.ManifestPreview) {
			for _, row := range []struct {
				name  string
				count int32
			}{
				{"objects", result.GetObjects()},
				{"not propagated", result.GetNotPropagated()},
				{"manifests for member clusters", result.GetManifests()},
				{"created", result.GetCreated()},
				{"changed", result.GetChanged()},
				{"unchanged", result.GetUnchanged()},
				{"cannot be made", result.GetFailed()},
			} {
				fmt.Fprintf(o.Out, "%-30s %d\n", row.name, row.count)
			}
			for _, assumption := range result.GetAssumptions() {
				fmt.Fprintln(o.Out, "- "+assumption)
			}
		})
}

// compare is a command that compares manifests with what member clusters have.
func (o *options) compare(name, about string, show func(*kairshipv1.ManifestPreview)) *cobra.Command {
	var manifests manifestFlags
	cmd := &cobra.Command{
		Use: name + " -f FILE -i INSTANCE", Short: about, Args: cobra.NoArgs,
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
			answer, err := api.DiffManifests(cmd.Context(), connect.NewRequest(&kairshipv1.DiffManifestsRequest{
				Instance: instance, Manifests: &text, Namespace: optional(o.namespace()), Force: &manifests.force,
				First: new(int32(pageSize)), Effects: effects,
			}))
			if err != nil {
				return err
			}
			o.warn(answer.Msg.GetErrors())
			result := answer.Msg.GetResult()
			show(result)
			switch {
			case result.GetFailed() > 0:
				return fmt.Errorf("%d manifests cannot be made", result.GetFailed())
			case result.GetChanged()+result.GetCreated() > 0:
				return errDiffers
			}
			return nil
		},
	}
	manifests.add(cmd.Flags())
	return cmd
}
