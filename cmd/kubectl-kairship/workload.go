package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

// reference names a workload.
type reference struct {
	instance, namespace, name string
	kind                      kairshipv1.WorkloadKind_Value
	customKind                *string
}

// kinds are the kinds of workloads by what users write.
var kinds = map[string]kairshipv1.WorkloadKind_Value{
	"deployment": kairshipv1.WorkloadKind_DEPLOYMENT, "deployments": kairshipv1.WorkloadKind_DEPLOYMENT, "deploy": kairshipv1.WorkloadKind_DEPLOYMENT,
	"statefulset": kairshipv1.WorkloadKind_STATEFUL_SET, "statefulsets": kairshipv1.WorkloadKind_STATEFUL_SET, "sts": kairshipv1.WorkloadKind_STATEFUL_SET,
	"daemonset": kairshipv1.WorkloadKind_DAEMON_SET, "daemonsets": kairshipv1.WorkloadKind_DAEMON_SET, "ds": kairshipv1.WorkloadKind_DAEMON_SET,
	"job": kairshipv1.WorkloadKind_JOB, "jobs": kairshipv1.WorkloadKind_JOB,
	"cronjob": kairshipv1.WorkloadKind_CRON_JOB, "cronjobs": kairshipv1.WorkloadKind_CRON_JOB, "cj": kairshipv1.WorkloadKind_CRON_JOB,
}

// parseWorkload reads KIND/NAME, or NAME for a Deployment. A kind with its group, as Rollout.argoproj.io, is a custom one.
func parseWorkload(text string) (reference, error) {
	kind, name, both := strings.Cut(text, "/")
	if !both {
		kind, name = "deployment", text
	}
	if name == "" || strings.Contains(name, "/") {
		return reference{}, fmt.Errorf("%q is no workload such as deployment/frontend", text)
	}
	if strings.Contains(kind, ".") {
		return reference{name: name, kind: kairshipv1.WorkloadKind_CUSTOM, customKind: &kind}, nil
	}
	of, ok := kinds[strings.ToLower(kind)]
	if !ok {
		return reference{}, fmt.Errorf("%q is no kind of workload: there are deployment, statefulset, daemonset, job, cronjob and custom kinds such as Rollout.argoproj.io", kind)
	}
	return reference{name: name, kind: of}, nil
}

// onWorkload is what a command does with the workload that its first argument names.
func (o *options) onWorkload(do func(context.Context, client.API, reference) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		api, err := o.api()
		if err != nil {
			return err
		}
		of, err := o.workload(cmd.Context(), api, args[0])
		if err != nil {
			return err
		}
		return do(cmd.Context(), api, of)
	}
}

// workload finds the workload that an argument names, in all instances unless one is told.
func (o *options) workload(ctx context.Context, api client.API, text string) (reference, error) {
	of, err := parseWorkload(text)
	if err != nil {
		return of, err
	}
	of.instance, of.namespace = o.instance, o.namespace()
	if of.instance != "" && of.namespace != "" {
		return of, nil
	}
	request := &kairshipv1.ListWorkloadsRequest{First: new(int32(pageSize)), Name: []string{of.name}, Kinds: []kairshipv1.WorkloadKind_Value{of.kind}}
	if of.customKind != nil {
		request.Kinds, request.CustomKinds = nil, []string{*of.customKind}
	}
	if of.instance != "" {
		request.Instances = []string{of.instance}
	}
	if of.namespace != "" {
		request.Namespaces = []string{of.namespace}
	}
	answer, err := api.ListWorkloads(ctx, connect.NewRequest(request))
	if err != nil {
		return of, err
	}
	o.warn(answer.Msg.GetErrors())
	nodes := answer.Msg.GetResult().GetNodes()
	switch len(nodes) {
	case 0:
		return of, errors.New("there is no such workload, or you may not know that there is")
	case 1:
		of.instance, of.namespace = nodes[0].GetInstance().GetName(), nodes[0].GetNamespace()
		return of, nil
	}
	var places []string
	for _, node := range nodes {
		places = append(places, node.GetInstance().GetName()+": "+node.GetNamespace())
	}
	slices.Sort(places)
	return of, fmt.Errorf("%d workloads have this name (%s): say which with -i and -n", len(nodes), strings.Join(places, ", "))
}
