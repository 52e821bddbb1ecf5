package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// progress is what operationProgress tells.
type progress struct {
	Operation    string         `json:"operation"`
	Kind         string         `json:"kind"`
	InstanceName string         `json:"instanceName"`
	State        string         `json:"state"`
	Reason       *string        `json:"reason"`
	Message      *string        `json:"message"`
	Steps        []progressStep `json:"steps"`
	Clusters     []struct {
		Name    string  `json:"name"`
		Objects int     `json:"objects"`
		Applied int     `json:"applied"`
		Healthy int     `json:"healthy"`
		Message *string `json:"message"`
	} `json:"clusters"`
}

type progressStep struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Message *string `json:"message"`
	Done    int     `json:"done"`
	Total   int     `json:"total"`
}

func (p progress) steps() string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Name+" "+s.State)
	}
	return strings.Join(all, ", ")
}

const progressSelection = `operation kind instanceName state reason message steps { name state message done total } clusters { name objects applied healthy message }`

// progressOf reads the progress of an operation until it is over.
func progressOf(t *testing.T, as *gql.Client, operation string) []progress {
	t.Helper()
	s := as.MustSubscribe(t, gql.Request{
		Query:     "subscription($operation: ID!) { operationProgress(operation: $operation) { " + progressSelection + " } }",
		Variables: m{"operation": operation},
	})
	var all []progress
	for {
		e := s.Next(2 * within)
		switch {
		case e == nil:
			t.Fatalf("it does not get on: %+v", all)
		case e.Complete:
			return all
		case e.Lost != nil || len(e.Errors) > 0:
			t.Fatalf("lost %v, errors %v", e.Lost, e.Errors)
		}
		var data struct {
			OperationProgress progress `json:"operationProgress"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		all = append(all, data.OperationProgress)
	}
}

func last(all []progress) progress { return all[len(all)-1] }

// deploy deploys a Deployment with a policy that sends it to clusters.
func deploy(t *testing.T, as *gql.Client, ns, name, image string, replicas int32, clusters ...string) string {
	t.Helper()
	d := deployment(ns, name, replicas)
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	d.Spec.Template.Spec.Containers[0].Image = image
	manifest, err := yaml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := gql.MustQuery[struct {
		DeployApplication struct {
			Deployed  bool
			Operation *string
		}
	}](t, as, `mutation($input: DeployApplicationInput!) { deployApplication(input: $input) { deployed operation } }`, m{"input": m{
		"instance": "alpha", "namespace": ns, "manifests": string(manifest),
		"propagationPolicies": []m{{"name": name, "spec": m{
			"resourceSelectors": []m{{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}},
			"placement":         m{"clusterAffinity": m{"clusterNames": clusters}},
		}}},
	}})
	if !data.DeployApplication.Deployed || data.DeployApplication.Operation == nil {
		t.Fatalf("got %+v", data)
	}
	return *data.DeployApplication.Operation
}

func TestOperationThatSucceeds(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	alice := person(t, "alice")
	id := deploy(t, alice, ns, "web", "example.com/app:1", 2, "m1", "m2")
	all := progressOf(t, alice, id)
	end := last(all)
	if end.State != "SUCCEEDED" || end.Kind != "DEPLOY_APPLICATION" || end.Operation != id || end.InstanceName != "alpha" || end.Reason != nil {
		t.Errorf("got %+v", end)
	}
	if got := end.steps(); got != "WRITTEN DONE, SCHEDULED DONE, APPLIED DONE, HEALTHY DONE" {
		t.Errorf("steps: %s", got)
	}
	if got := fmt.Sprintf("%+v", end.Clusters); len(end.Clusters) != 2 || end.Clusters[0].Healthy != 1 || end.Clusters[1].Name != "m2" {
		t.Errorf("clusters: %s", got)
	}
	for i, p := range all[:len(all)-1] {
		if p.State != "RUNNING" {
			t.Errorf("event %d of %d: %+v", i, len(all), p)
		}
	}
	// It is over, and a client that asks again is told so at once.
	if again := progressOf(t, alice, id); len(again) != 1 || last(again).State != "SUCCEEDED" {
		t.Errorf("asked again, there came %+v", again)
	}
	for _, who := range []string{"admin", "bob", "mallory"} {
		_, refused := deliveredTo(t, person(t, who), "operationProgress", fmt.Sprintf("(operation: %q)", id))
		if strings.Contains(refused, "alpha") || !strings.Contains(refused, "no operation of yours") {
			t.Errorf("%s is told %s", who, refused)
		}
	}
}

func TestOperationThatFails(t *testing.T) {
	t.Parallel()
	ns := namespaceIn(t, "alpha")
	alice := person(t, "alice")
	begun := time.Now()
	end := last(progressOf(t, alice, deploy(t, alice, ns, "lost", "example.com/app:1", 1, "none-such")))
	if end.State != "FAILED" || end.Reason == nil || *end.Reason != "UNSCHEDULED" || end.Message == nil {
		t.Errorf("got %+v", end)
	}
	if got := end.steps(); got != "WRITTEN DONE, SCHEDULED FAILED, APPLIED PENDING, HEALTHY PENDING" {
		t.Errorf("steps: %s", got)
	}
	t.Logf("it took %s to be called a failure", time.Since(begun).Round(time.Second))
	if err := fleet.Open(t).Client(t, "alpha").Delete(t.Context(), deployment(ns, "lost", 1)); err != nil {
		t.Fatal(err)
	}
	id := deploy(t, alice, ns, "short", "example.com/app:1", 1, "none-such")
	remove(t, "alpha", deployment(ns, "short", 1))
	if end := last(progressOf(t, alice, id)); end.State != "FAILED" || *end.Reason != "DELETED" {
		t.Errorf("what was deleted ends with %+v", end)
	}
}

// What was applied without a policy is there once it is written.
func TestOperationWithoutPropagation(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	alice := person(t, "alice")
	data, _ := gql.MustQuery[struct {
		ApplyManifests struct{ Operation *string }
	}](t, alice, `mutation($input: ApplyManifestsInput!) { applyManifests(input: $input) { operation } }`, m{"input": m{
		"instance": "alpha", "manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: " + ns + "}",
	}})
	if end := last(progressOf(t, alice, *data.ApplyManifests.Operation)); end.State != "SUCCEEDED" || end.Kind != "APPLY_MANIFESTS" {
		t.Errorf("got %+v", end)
	}
	dry, _ := gql.MustQuery[struct {
		ApplyManifests struct{ Operation *string }
	}](t, alice, `mutation($input: ApplyManifestsInput!) { applyManifests(input: $input) { operation } }`, m{"input": m{
		"instance": "alpha", "dryRun": true, "manifests": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: " + ns + "}",
	}})
	if dry.ApplyManifests.Operation != nil {
		t.Error("a dry run is no operation")
	}
}

// A cluster without credentials does not get into an instance, and out of it at once.
func TestOperationsOfMembership(t *testing.T) {
	name := unique("live")
	create(t, "global", &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{
			Type: v1alpha1.ClusterTypePhysical, APIEndpoint: "https://127.0.0.1:1",
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: "kairship-system", Name: "none-such"}},
		},
	})
	admin := person(t, "admin")
	ask := func(mutation string) string {
		title := strings.ToUpper(mutation[:1]) + mutation[1:]
		data, _ := gql.MustQuery[map[string]struct{ Operation *string }](t, admin,
			"mutation($input: "+title+"Input!) { "+mutation+"(input: $input) { operation } }", m{"input": m{"instance": "alpha", "cluster": name}})
		if data[mutation].Operation == nil {
			t.Fatalf("%s answers with no operation", mutation)
		}
		return *data[mutation].Operation
	}
	joining := ask("joinCluster")
	end := last(progressOf(t, admin, joining))
	if end.State != "FAILED" || end.Kind != "JOIN_CLUSTER" || end.Reason == nil || *end.Reason != "CredentialsMissing" {
		t.Errorf("joining ends with %+v", end)
	}
	if got := end.steps(); got != "WRITTEN DONE, CREDENTIALS FAILED, REGISTERED PENDING, READY PENDING" {
		t.Errorf("steps: %s", got)
	}
	if end := last(progressOf(t, admin, ask("unjoinCluster"))); end.State != "SUCCEEDED" || end.steps() != "WRITTEN DONE, LEFT DONE" {
		t.Errorf("leaving ends with %+v", end)
	}
	if end := last(progressOf(t, admin, joining)); end.State != "FAILED" || *end.Reason != "WITHDRAWN" {
		t.Errorf("joining, asked about again, ends with %+v", end)
	}
}
