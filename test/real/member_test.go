package real

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// fleetApplication is one container that runs and one that ends, again and again.
const fleetApplication = `
apiVersion: v1
kind: Namespace
metadata: {name: real-member}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: runs, namespace: real-member}
spec:
  selector: {matchLabels: {app: runs}}
  template:
    metadata: {labels: {app: runs}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "localhost/tools:1", imagePullPolicy: Never, command: [sh, -c, "while true; do echo it runs; sleep 1; done"]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: breaks, namespace: real-member}
spec:
  selector: {matchLabels: {app: breaks}}
  template:
    metadata: {labels: {app: breaks}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "localhost/tools:1", imagePullPolicy: Never, command: [sh, -c, "echo it breaks; exit 3"]}]
`

// fleetWorkload is what Kairship shows of a workload of the process fleet.
type fleetWorkload struct {
	Instance struct {
		Workload *struct {
			Health      string
			Explanation struct {
				State string
				Steps []struct {
					Reasons []struct {
						Code string
						Pod  *struct {
							Containers []struct {
								Restarts        int
								LastTermination *struct{ ExitCode int }
							}
							Logs struct{ Lines []struct{ Line string } }
						}
					}
				}
			}
			Logs struct {
				Lines []struct{ PodName, Line string }
			}
			Usage struct {
				CPU, Memory *float64
				Reason      *string
			}
		}
	}
}

const fleetWorkloadQuery = `query($name: String!) {
	instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "real-member", name: $name) {
		health
		explanation { state steps { reasons { code pod { containers { restarts lastTermination { exitCode } } logs(previous: true) { lines { line } } } } } }
		logs(tail: 3) { lines { podName line } }
		usage { cpu memory reason }
	} }
}`

// TestMemberOfFleet has an instance of the process fleet run containers on the node: one that crashes is explained by
// what its kubelet reports and what it wrote, one that runs is read, measured and entered, by the API and in the console.
func TestMemberOfFleet(t *testing.T) {
	if os.Getenv("KAIRSHIP_REAL_MEMBER") == "" {
		t.Skip("the node is no member of a process fleet: `make test-real-member` starts both")
	}
	w := open(t)
	const of, joined, namespace = "alpha", "real", "real-member"
	instanceOf := w.kubeconfigOf(t, of, "")
	t.Cleanup(func() {
		if _, err := w.kubectl(context.WithoutCancel(t.Context()), instanceOf, "delete", "namespace", namespace, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	policy := map[string]any{"name": "here", "spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []string{joined}}},
	}}
	deployed, _ := gql.MustQuery[struct {
		DeployApplication struct {
			Deployed bool
			Results  []struct{ Error *struct{ Message string } }
		}
	}](t, w.kairship, `mutation($input: DeployApplicationInput!) { deployApplication(input: $input) { deployed results { error { message } } } }`, map[string]any{"input": map[string]any{
		"instance": of, "namespace": namespace, "manifests": fleetApplication, "force": true, "propagationPolicies": []any{policy},
	}})
	if !deployed.DeployApplication.Deployed {
		t.Fatalf("the application is not deployed: %+v", deployed.DeployApplication.Results)
	}

	poll.Until(t, seen, "what crashes is explained", func(ctx context.Context) error {
		data, _, err := gql.Query[fleetWorkload](ctx, w.kairship, fleetWorkloadQuery, map[string]any{"name": "breaks"})
		if err != nil || data.Instance.Workload == nil {
			return errors.Join(errors.New("it is not shown"), err)
		}
		found := data.Instance.Workload
		for _, step := range found.Explanation.Steps {
			for _, reason := range step.Reasons {
				if reason.Code != "POD_CRASHING" || reason.Pod == nil || len(reason.Pod.Containers) != 1 {
					continue
				}
				container, lines := reason.Pod.Containers[0], reason.Pod.Logs.Lines
				if container.Restarts > 0 && container.LastTermination != nil && container.LastTermination.ExitCode == 3 && len(lines) > 0 && lines[0].Line == "it breaks" {
					t.Logf("%s, %s: %+v", found.Health, found.Explanation.State, reason)
					return nil
				}
			}
		}
		return fmt.Errorf("it is %+v", found)
	})

	pod := ""
	poll.Until(t, seen, "what runs is healthy and read", func(ctx context.Context) error {
		data, _, err := gql.Query[fleetWorkload](ctx, w.kairship, fleetWorkloadQuery, map[string]any{"name": "runs"})
		if err != nil || data.Instance.Workload == nil {
			return errors.Join(errors.New("it is not shown"), err)
		}
		lines := data.Instance.Workload.Logs.Lines
		if data.Instance.Workload.Health != "HEALTHY" || len(lines) == 0 || lines[0].Line != "it runs" {
			return fmt.Errorf("it is %+v", data.Instance.Workload)
		}
		pod = lines[0].PodName
		return nil
	})
	poll.Until(t, seen, "it is measured what that uses", func(ctx context.Context) error {
		data, _, err := gql.Query[fleetWorkload](ctx, w.kairship, fleetWorkloadQuery, map[string]any{"name": "runs"})
		if err != nil || data.Instance.Workload == nil {
			return errors.Join(errors.New("it is not shown"), err)
		}
		if used := data.Instance.Workload.Usage; used.CPU == nil || used.Memory == nil || *used.CPU <= 0 || *used.Memory <= 0 || used.Reason != nil {
			return fmt.Errorf("it uses %+v", used)
		}
		return nil
	})
	through := w.kubeconfigOf(t, of, "/apis/cluster.karmada.io/v1alpha1/clusters/"+joined+"/proxy")
	poll.Until(t, time.Minute, "a command runs in it", func(ctx context.Context) error {
		out, err := w.kubectl(ctx, through, "--namespace", namespace, "exec", pod, "--", "sh", "-c", "echo in $(hostname)")
		if err == nil && out != "in "+pod+"\n" {
			err = fmt.Errorf("it prints %q", out)
		}
		return err
	})
	console(t)
}

// console has a browser look at the containers, and type into one.
func console(t *testing.T) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "node", "test/node.mjs")
	c.Dir = "../../ui/console"
	out, err := c.CombinedOutput()
	t.Logf("the console in a browser:\n%s", out)
	if err != nil {
		t.Errorf("the console in a browser: %v", err)
	}
}
