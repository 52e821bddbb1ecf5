package main

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

// unwell are the states of health that are problems.
var unwell = []kairshipv1.WorkloadHealth_Value{
	kairshipv1.WorkloadHealth_DEGRADED, kairshipv1.WorkloadHealth_UNSCHEDULED, kairshipv1.WorkloadHealth_UNPROPAGATED,
	kairshipv1.WorkloadHealth_UNMANAGED, kairshipv1.WorkloadHealth_UNKNOWN,
}

func newProblems(o *options) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "problems",
		Short: "List the workloads of all instances that are not well",
		Long:  "List the workloads of all instances that are not well, and why.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := o.api()
			if err != nil {
				return err
			}
			request := &kairshipv1.ListWorkloadsRequest{First: new(int32(pageSize)), Health: unwell}
			if o.instance != "" {
				request.Instances = []string{o.instance}
			}
			if o.namespace() != "" {
				request.Namespaces = []string{o.namespace()}
			}
			answer, err := api.ListWorkloads(cmd.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			o.warn(answer.Msg.GetErrors())
			list := answer.Msg.GetResult()
			partial := len(answer.Msg.GetErrors()) > 0
			switch {
			case len(list.GetNodes()) > 0:
			case partial && check:
				return errDiffers // What is missing may not be well.
			case partial:
				return nil
			default:
				fmt.Fprintln(o.ErrOut, "No workload that you may see has a problem.")
				return nil
			}
			var rows [][]string
			for _, w := range list.GetNodes() {
				rows = append(rows, []string{w.GetInstance().GetName(), w.GetNamespace(), w.GetKind().String(), w.GetName(), w.GetHealth().String(), w.GetHealthMessage()})
			}
			if err := writeTable(o.Out, []string{"INSTANCE", "NAMESPACE", "KIND", "NAME", "HEALTH", "BECAUSE"}, rows, false); err != nil {
				return err
			}
			if more := int(list.GetTotalCount()) - len(rows); more > 0 {
				fmt.Fprintf(o.ErrOut, "%d more are not shown.\n", more)
			}
			if check {
				return errDiffers
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "exit-code", false, "Exit with 1 when there are problems, or when an instance does not answer")
	return cmd
}
