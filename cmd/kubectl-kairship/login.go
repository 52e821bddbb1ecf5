package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// loginFlags are those of signing in.
type loginFlags struct {
	issuer, clientID, caFile string
	scopes                   []string
	credential               bool
	// listenPort is the port of this machine that the provider sends the browser back to; 0 for any.
	listenPort uint16
	user       string
}

func newLogin(o *options) *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use:   "login --issuer URL --client-id ID",
		Short: "Sign in at your OpenID Connect provider, in the browser",
		Long: "Sign in at the OpenID Connect provider that the global cluster trusts, in the browser, and add a user to your kubeconfig whose\n" +
			"token kubectl gets by this command: an exec credential plugin. The provider has to know the address http://127.0.0.1 with any\n" +
			"port (RFC 8252), or with that of --listen-port, to come back to.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.issuer == "" || f.clientID == "" {
				return errors.New("say with --issuer and --client-id where you sign in")
			}
			token, err := o.signIn(cmd.Context(), &f)
			if err != nil {
				return err
			}
			if f.credential {
				return o.writeCredential(token)
			}
			return o.addUser(&f)
		},
	}
	cmd.Flags().StringVar(&f.issuer, "issuer", "", "The address of the provider")
	cmd.Flags().StringVar(&f.clientID, "client-id", "", "The client that the global cluster expects in tokens")
	cmd.Flags().StringVar(&f.caFile, "issuer-ca-file", "", "The authority of the provider's certificate")
	cmd.Flags().StringSliceVar(&f.scopes, "scope", []string{"profile", "email", "offline_access"}, "What else to ask for beside openid")
	cmd.Flags().BoolVar(&f.credential, "exec-credential", false, "Write the token as kubectl reads it from a credential plugin")
	cmd.Flags().Uint16Var(&f.listenPort, "listen-port", 0, "The port of this machine to come back to, for a provider that takes no other; any unless told")
	cmd.Flags().StringVar(&f.user, "as-user", "kairship", "The name of the user in the kubeconfig")
	return cmd
}

// writeCredential answers kubectl.
func (o *options) writeCredential(token *oauth2.Token) error {
	id, err := idToken(token)
	if err != nil {
		return err
	}
	expiry := metav1.NewTime(token.Expiry)
	return json.NewEncoder(o.Out).Encode(&clientauthv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthv1.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauthv1.ExecCredentialStatus{Token: id, ExpirationTimestamp: &expiry},
	})
}

// idToken is the token that Kubernetes reads.
func idToken(token *oauth2.Token) (string, error) {
	id, ok := token.Extra("id_token").(string)
	if !ok || id == "" {
		return "", errors.New("the provider has given no ID token")
	}
	return id, nil
}

// addUser adds a user to the kubeconfig whose token this command gets.
func (o *options) addUser(f *loginFlags) error {
	access := clientcmd.NewDefaultPathOptions()
	if *o.kube.KubeConfig != "" {
		access.LoadingRules.ExplicitPath = *o.kube.KubeConfig
	}
	config, err := access.GetStartingConfig()
	if err != nil {
		return err
	}
	args := []string{"kairship", "login", "--exec-credential", "--issuer", f.issuer, "--client-id", f.clientID}
	if f.caFile != "" {
		file, err := filepath.Abs(f.caFile)
		if err != nil {
			return err
		}
		args = append(args, "--issuer-ca-file", file)
	}
	if f.listenPort != 0 {
		args = append(args, "--listen-port", strconv.Itoa(int(f.listenPort)))
	}
	for _, scope := range f.scopes {
		args = append(args, "--scope", scope)
	}
	user := clientcmdapi.NewAuthInfo()
	user.Exec = &clientcmdapi.ExecConfig{
		APIVersion: clientauthv1.SchemeGroupVersion.String(), Command: "kubectl", Args: args, InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode,
	}
	config.AuthInfos[f.user] = user
	if of := config.Contexts[config.CurrentContext]; of != nil {
		of.AuthInfo = f.user
	}
	if err := clientcmd.ModifyConfig(access, *config, true); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "user %s\n", f.user)
	return nil
}

// cacheFile is where the tokens of a provider are kept between calls.
func cacheFile(f *loginFlags) (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "kubectl-kairship", fileName(f.issuer, f.clientID)+".json"), nil
}
