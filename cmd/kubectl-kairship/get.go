package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

func newGet(o *options) *cobra.Command {
	out := newOutput()
	var q query
	var watch bool
	cmd := &cobra.Command{
		Use:   "get NOUN [NAME...]",
		Short: "List objects of all instances",
		Example: `  kubectl kairship get workloads
  kubectl kairship get pods -n shop -o wide
  kubectl kairship get propagationpolicies -i alpha -o yaml`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, n := range nouns() {
				names = append(names, n.name)
			}
			if len(args) > 0 {
				names = nil
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := findNoun(args[0])
			if err != nil {
				return err
			}
			q.noun, q.names, q.instance, q.namespace = found, args[1:], o.instance, o.namespace()
			if watch {
				return o.watch(cmd.Context(), out, q)
			}
			objects, err := o.complete(cmd.Context(), q)
			if err != nil {
				return err
			}
			if len(objects) == 0 {
				fmt.Fprintln(o.ErrOut, "No objects found.")
				if len(q.names) > 0 {
					return errors.New("there is no such object, or you may not know that there is")
				}
				return nil
			}
			return out.print(o.Out, q.noun, objects)
		},
	}
	out.flags.AddFlags(cmd)
	cmd.Flags().BoolVar(&out.noHeaders, "no-headers", false, "Leave out the headers of the table")
	cmd.Flags().StringVarP(&q.selector, "selector", "l", "", "Only objects with these labels")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Go on with what changes")
	return cmd
}

// complete lists objects, and reports what is missing in the list.
func (o *options) complete(ctx context.Context, q query) ([]object, error) {
	objects, missing, err := o.list(ctx, q)
	if err != nil {
		return nil, err
	}
	o.warn(missing)
	if len(q.names) > 0 && !has(q.noun.method, "name") {
		objects = named(objects, q.names)
	}
	return objects, nil
}

// warn reports what is missing in an answer.
func (o *options) warn(missing []*kairshipv1.Failure) {
	for _, failure := range missing {
		fmt.Fprintf(o.ErrOut, "warning: %s (%s)\n", failure.GetMessage(), failure.GetCode())
	}
}

// named are the objects of these names.
func named(objects []object, names []string) (kept []object) {
	for _, o := range objects {
		for _, name := range names {
			if textAt(o, []string{"name"}) == name {
				kept = append(kept, o)
			}
		}
	}
	return kept
}
