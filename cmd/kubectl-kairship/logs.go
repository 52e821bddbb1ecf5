package main

import (
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

func newLogs(o *options) *cobra.Command {
	var tail int32
	var since time.Duration
	var container string
	var clusters []string
	var previous bool
	cmd := &cobra.Command{
		Use:   "logs KIND/NAME",
		Short: "Show the last lines of a workload from all its clusters, merged by time",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := o.api()
			if err != nil {
				return err
			}
			of, err := o.workload(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			request := &kairshipv1.GetWorkloadLogsRequest{
				Instance: &of.instance, Namespace: &of.namespace, Kind: of.kind, Name: &of.name, CustomKind: of.customKind,
				Clusters: clusters, Previous: &previous,
			}
			if cmd.Flags().Changed("tail") {
				request.Tail = &tail
			}
			if container != "" {
				request.Container = &container
			}
			if since > 0 {
				request.Since = timestamppb.New(time.Now().Add(-since))
			}
			answer, err := api.GetWorkloadLogs(cmd.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			for _, line := range answer.Msg.GetResult().GetLines() {
				fmt.Fprintf(o.Out, "%s/%s %s\n", line.GetClusterName(), line.GetPodName(), line.GetLine())
			}
			for _, left := range answer.Msg.GetResult().GetOmitted() {
				fmt.Fprintf(o.ErrOut, "warning: %s/%s: %s\n", left.GetClusterName(), left.GetPodName(), left.GetMessage())
			}
			return nil
		},
	}
	cmd.Flags().Int32Var(&tail, "tail", 0, "How many lines of each container")
	cmd.Flags().DurationVar(&since, "since", 0, "Only lines that are not older, for example 5m")
	cmd.Flags().StringVarP(&container, "container", "c", "", "Only of this container")
	cmd.Flags().StringSliceVar(&clusters, "cluster", nil, "Only of these member clusters")
	cmd.Flags().BoolVarP(&previous, "previous", "p", false, "Of the containers before they were restarted")
	return cmd
}
