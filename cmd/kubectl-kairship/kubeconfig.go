package main

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

func newKubeconfig(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "kubeconfig", Short: "Work with the instances' native API through Kairship"}
	var prefix string
	merge := &cobra.Command{
		Use:   "merge",
		Short: "Add a context for each instance to your kubeconfig, with the user of the current context",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := o.api()
			if err != nil {
				return err
			}
			names, err := o.instances(cmd.Context())
			if err != nil {
				return err
			}
			access := clientcmd.NewDefaultPathOptions()
			if *o.kube.KubeConfig != "" {
				access.LoadingRules.ExplicitPath = *o.kube.KubeConfig
			}
			config, err := access.GetStartingConfig()
			if err != nil {
				return err
			}
			user := userOf(config, *o.kube.Context)
			if user == "" {
				return fmt.Errorf("the kubeconfig has no current context whose user the new ones could have: say which with --context")
			}
			for _, name := range names {
				if o.instance != "" && o.instance != name {
					continue
				}
				if err := o.merge(cmd, api, config, name, prefix+name, user); err != nil {
					return err
				}
			}
			return clientcmd.ModifyConfig(access, *config, true)
		},
	}
	merge.Flags().StringVar(&prefix, "prefix", "kairship-", "What the names of the contexts begin with")
	cmd.AddCommand(merge)
	return cmd
}

// userOf is the user of a context, or of the current one.
func userOf(config *clientcmdapi.Config, name string) string {
	if name == "" {
		name = config.CurrentContext
	}
	if of := config.Contexts[name]; of != nil {
		return of.AuthInfo
	}
	return ""
}

// merge adds a context of an instance. What has its name is replaced.
func (o *options) merge(cmd *cobra.Command, api client.API, config *clientcmdapi.Config, instance, name, user string) error {
	answer, err := api.GetInstanceKubeconfig(cmd.Context(), connect.NewRequest(&kairshipv1.GetInstanceKubeconfigRequest{Instance: &instance}))
	if client.Reason(err) == "FORBIDDEN" || client.Reason(err) == "NOT_FOUND" {
		fmt.Fprintf(o.ErrOut, "%s: you may not use its native API\n", instance)
		return nil
	}
	if err != nil {
		return err
	}
	cluster := clientcmdapi.NewCluster()
	cluster.Server = answer.Msg.GetResult().GetServer()
	cluster.CertificateAuthorityData = []byte(answer.Msg.GetResult().GetCertificateAuthority())
	of := clientcmdapi.NewContext()
	of.Cluster, of.AuthInfo = name, user
	config.Clusters[name], config.Contexts[name] = cluster, of
	fmt.Fprintf(o.Out, "context %s\n", name)
	return nil
}
