package bringup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/real/internal/graphql"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

const (
	// fleetMember is the node's name as a member of the process fleet.
	fleetMember = "real"
	// fleetMemberOf is the instance that it joins.
	fleetMemberOf = "alpha"
)

// memberAdministrator lets the fleet's administrator do everything on the node: Karmada's proxy asks a member as the person.
const memberAdministrator = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fleet-administrator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`

// memberOf joins the node's cluster to an instance of the process fleet, through the fleet's Kairship.
func (b *Bringup) memberOf(ctx context.Context) error {
	found, err := readFleet(b.MemberOf)
	if errors.Is(err, fs.ErrNotExist) || err == nil && found.KairshipURL == "" {
		return fmt.Errorf("--member-of %s: there is no fleet with Kairship that is up: start one with `go run ./deploy/local up --dir %s`", b.MemberOf, b.MemberOf)
	}
	if err != nil {
		return err
	}
	client, err := b.Node.Client()
	if err != nil {
		return err
	}
	if err := client.Apply(ctx, kube.MustParse(memberAdministrator, node.Admin)...); err != nil {
		return err
	}
	kubeconfig, err := b.Node.MemberKubeconfig()
	if err != nil {
		return err
	}
	token := found.Tokens[node.Admin]
	kairship, err := graphql.New(found.KairshipURL, found.CAFile, token)
	if err != nil {
		return err
	}
	for _, s := range []sampleStep{
		{
			name:      "registerCluster " + fleetMember,
			mutation:  `mutation($name: String!, $kubeconfig: String!) { registerCluster(input: {cluster: $name, kubeconfig: $kubeconfig}) { kubeSystemID } }`,
			variables: map[string]any{"name": fleetMember, "kubeconfig": kubeconfig},
			await:     clusterCondition(kairship, fleetMember, "Reachable"),
		},
		{
			name:      "joinCluster " + fleetMember,
			mutation:  `mutation($name: String!, $instance: String!) { joinCluster(input: {instance: $instance, cluster: $name}) { requested } }`,
			variables: map[string]any{"name": fleetMember, "instance": fleetMemberOf},
			await:     clusterCondition(kairship, fleetMember, "Joined"),
		},
	} {
		if err := b.runSample(ctx, kairship, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return b.write(Description{
		KairshipURL: found.KairshipURL, CAFile: found.CAFile, TokenFile: token, Kubeconfig: b.Node.Paths.Kubeconfig(), Kubectl: b.Node.Paths.Binary("kubectl"),
		Program: b.Node.Paths.Binary("kairship-real"), Network: b.Node.Network.String(),
	})
}
