package bringup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/real/internal/graphql"
	"github.com/kairship-io/kairship/deploy/real/internal/images"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

// What is made through Kairship.
const (
	Instance    = "gamma"
	Member      = "home"
	Namespace   = "shop"
	Application = "clock"
)

// samplePatience is how long each step may take.
const samplePatience = 5 * time.Minute

// sampleStep sends a mutation, unless what it makes is there, and waits for what follows from it.
type sampleStep struct {
	name      string
	mutation  string
	variables map[string]any
	// await returns what is still missing, or nothing; a failure of it ends the wait.
	await func(context.Context) (string, error)
}

// sample makes a Managed instance, joins the node's cluster to it and deploys an application, all of it
// through Kairship's API.
func (b *Bringup) sample(ctx context.Context) error {
	d, err := b.description(ctx)
	if err != nil {
		return err
	}
	client, err := graphql.New(d.KairshipURL, d.CAFile, d.TokenFile)
	if err != nil {
		return err
	}
	steps, err := b.sampleSteps(client)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := b.runSample(ctx, client, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *Bringup) runSample(ctx context.Context, client *graphql.Client, s sampleStep) error {
	ctx, cancel := context.WithTimeout(ctx, samplePatience)
	defer cancel()
	begun := time.Now()
	err := kube.Until(ctx, func() error {
		var ignored any
		err := client.Do(ctx, s.mutation, s.variables, &ignored)
		problems, answered := errors.AsType[graphql.Errors](err)
		if answered && problems.Has("ALREADY_EXISTS") {
			return nil // An earlier run made it.
		}
		// What was just made is not known to every replica yet.
		if answered && !problems.Has("FORBIDDEN") && !problems.Has("NOT_FOUND") && !problems.Has("INSTANCE_UNAVAILABLE") {
			return kube.Final(err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.await != nil {
		err = kube.Until(ctx, func() error {
			missing, err := s.await(ctx)
			if err == nil && missing != "" {
				err = errors.New(missing)
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	b.Node.Report.Step(s.name, "done", time.Since(begun))
	return nil
}

func (b *Bringup) sampleSteps(client *graphql.Client) ([]sampleStep, error) {
	kubeconfig, err := b.Node.MemberKubeconfig()
	if err != nil {
		return nil, err
	}
	var components any
	if b.Earlier { // The next operator makes etcd's pod anew, and with it its data where that has no volume.
		components = map[string]any{"etcd": map[string]any{"storage": map[string]any{"size": "1Gi"}}}
	}
	return []sampleStep{
		{
			name:      "registerCluster " + Member,
			mutation:  `mutation($name: String!, $kubeconfig: String!) { registerCluster(input: {cluster: $name, kubeconfig: $kubeconfig, alias: "The node"}) { kubeSystemID mayJoin } }`,
			variables: map[string]any{"name": Member, "kubeconfig": kubeconfig},
			await:     clusterCondition(client, Member, "Reachable"),
		},
		{
			name: "createInstance " + Instance,
			mutation: `mutation($name: String!, $host: String!, $version: String!, $components: InstanceComponentsInput) {
				createInstance(input: {instance: $name, hostCluster: $host, karmadaVersion: $version, deletionPolicy: DELETE, components: $components}) { operation }
			}`,
			variables: map[string]any{"name": Instance, "host": Member, "version": b.karmada, "components": components},
			await:     instanceRuns(client, Instance),
		},
		// Karmada passes requests on to a member for users and groups that roles in the instance name, so a group
		// alone is not enough.
		grant("GROUP", node.AdminGroup),
		grant("USER", node.Admin),
		{
			name:      "joinCluster " + Member,
			mutation:  `mutation($name: String!, $instance: String!) { joinCluster(input: {instance: $instance, cluster: $name}) { requested } }`,
			variables: map[string]any{"name": Member, "instance": Instance},
			await:     clusterCondition(client, Member, "Joined"),
		},
		{
			name: "deployApplication " + Application,
			mutation: `mutation($instance: String!, $namespace: String!, $name: String!, $member: String!, $manifests: String!) {
				deployApplication(input: {instance: $instance, namespace: $namespace, manifests: $manifests, force: true, propagationPolicies: [{
					name: $name, spec: {resourceSelectors: [{apiVersion: "apps/v1", kind: "Deployment", name: $name}], placement: {clusterAffinity: {clusterNames: [$member]}}}
				}]}) { deployed results { argument kind name action error { code message } } }
			}`,
			variables: map[string]any{"instance": Instance, "namespace": Namespace, "name": Application, "member": Member, "manifests": application()},
			await:     workloadHealthy(client),
		},
	}, nil
}

// grant gives the role of an administrator of the instance.
func grant(kind, subject string) sampleStep {
	return sampleStep{
		name: "grantInstanceRole " + subject,
		mutation: `mutation($name: String!, $kind: RoleSubjectKind!, $subject: String!) {
			grantInstanceRole(input: {instance: $name, subjectKind: $kind, subject: $subject, role: ADMIN}) { unchanged }
		}`,
		variables: map[string]any{"name": Instance, "kind": kind, "subject": subject},
	}
}

// application is a Deployment that writes the time, and its namespace.
func application() string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s, labels: {app: %[2]s}}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: %[2]s
          image: %[3]s
          imagePullPolicy: Never
          command: [sh, -c, 'while true; do echo "it is $(date -Iseconds) on $(hostname)"; sleep 1; done']
          resources: {requests: {cpu: 10m, memory: 8Mi}}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`, Namespace, Application, images.Tools)
}

// condition is one of an object in an answer.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// conditionTrue returns what the condition is instead of True.
func conditionTrue(conditions []condition, kind string) string {
	for _, c := range conditions {
		if c.Type != kind {
			continue
		}
		if strings.EqualFold(c.Status, "True") {
			return ""
		}
		return fmt.Sprintf("condition %s is %s: %s: %s", kind, c.Status, c.Reason, c.Message)
	}
	return "there is no condition " + kind + " yet"
}

func clusterCondition(client *graphql.Client, name, kind string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		var data struct {
			Cluster *struct {
				Conditions []condition `json:"conditions"`
			} `json:"cluster"`
		}
		err := client.Do(ctx, `query($name: String!) { cluster(name: $name) { conditions { type status reason message } } }`, map[string]any{"name": name}, &data)
		if err != nil || data.Cluster == nil {
			return "the cluster is not in the inventory yet", err
		}
		return conditionTrue(data.Cluster.Conditions, kind), nil
	}
}

func instanceRuns(client *graphql.Client, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		var data struct {
			Instance *struct {
				Mode       string      `json:"mode"`
				State      string      `json:"state"`
				Conditions []condition `json:"conditions"`
			} `json:"instance"`
		}
		err := client.Do(ctx, `query($name: String!) { instance(name: $name) { mode state conditions { type status reason message } } }`, map[string]any{"name": name}, &data)
		if err != nil || data.Instance == nil {
			return "there is no instance yet", err
		}
		if missing := conditionTrue(data.Instance.Conditions, "Installed"); data.Instance.Mode == "MANAGED" && missing != "" {
			return missing, nil
		}
		if data.Instance.State != "RUNNING" {
			return fmt.Sprintf("the instance is %s: %+v", data.Instance.State, data.Instance.Conditions), nil
		}
		return "", nil
	}
}

func workloadHealthy(client *graphql.Client) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		var data struct {
			Instance *struct {
				Workload *struct {
					Health        string `json:"health"`
					HealthMessage string `json:"healthMessage"`
				} `json:"workload"`
			} `json:"instance"`
		}
		err := client.Do(ctx, `query($instance: String!, $namespace: String!, $name: String!) {
			instance(name: $instance) { workload(kind: DEPLOYMENT, namespace: $namespace, name: $name) { health healthMessage } }
		}`, map[string]any{"instance": Instance, "namespace": Namespace, "name": Application}, &data)
		if err != nil || data.Instance == nil || data.Instance.Workload == nil {
			return "the workload is not there yet", err
		}
		if w := data.Instance.Workload; w.Health != "HEALTHY" {
			return w.Health + ": " + w.HealthMessage, nil
		}
		return "", nil
	}
}
