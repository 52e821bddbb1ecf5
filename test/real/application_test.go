package real

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// logged is what Kairship reads of the application's pods.
type logged struct {
	Instance struct {
		Workload struct {
			Health   string
			Replicas struct{ Desired, Ready int }
		}
		Pods struct {
			Nodes []struct {
				Name, Phase string
				Logs        struct {
					Lines []struct {
						Time time.Time
						Line string
					}
					Omitted []struct{ Message string }
				}
			}
		}
	}
}

const logsQuery = `query($instance: String!, $namespace: String!, $name: String!) {
	instance(name: $instance) {
		workload(kind: DEPLOYMENT, namespace: $namespace, name: $name) { health replicas { desired ready } }
		pods(filter: {namespaces: [$namespace]}) { nodes { name phase logs(tail: 3) { lines { time line } omitted { message } } } }
	}
}`

// newest is how old the last line of a container may be that writes one every second.
const newest = 10 * time.Second

// TestApplicationRuns reads the logs of the pods that deployApplication led to.
func TestApplicationRuns(t *testing.T) {
	w := open(t)
	variables := map[string]any{"instance": instance, "namespace": shop, "name": application}
	poll.Until(t, time.Minute, "the pods' logs are read through Kairship", func(ctx context.Context) error {
		data, _, err := gql.Query[logged](ctx, w.kairship, logsQuery, variables)
		if err != nil {
			return err
		}
		if workload := data.Instance.Workload; workload.Health != "HEALTHY" || workload.Replicas.Ready != workload.Replicas.Desired {
			return fmt.Errorf("the workload is %+v", workload)
		}
		if len(data.Instance.Pods.Nodes) == 0 {
			return errors.New("there are no pods")
		}
		for _, pod := range data.Instance.Pods.Nodes {
			lines := pod.Logs.Lines
			if len(lines) == 0 {
				return fmt.Errorf("pod %s is %s and has no lines: %v", pod.Name, pod.Phase, pod.Logs.Omitted)
			}
			last := lines[len(lines)-1]
			if !strings.Contains(last.Line, "on "+pod.Name) || time.Since(last.Time) > newest {
				return fmt.Errorf("the last line of pod %s is %+v", pod.Name, last)
			}
		}
		return nil
	})
}

// TestCommandInContainer runs a command in a container, through Kairship, the instance and the member.
func TestCommandInContainer(t *testing.T) {
	w := open(t)
	pods, err := w.pods(t.Context(), shop, "app="+application)
	if err != nil || len(pods) == 0 {
		t.Fatalf("%d pods of the application, error %v", len(pods), err)
	}
	kubeconfig := w.memberKubeconfig(t)
	poll.Until(t, time.Minute, "the command runs", func(ctx context.Context) error {
		out, err := w.kubectl(ctx, kubeconfig, "--namespace", shop, "exec", pods[0].Name, "--", "sh", "-c", "hostname; id -u")
		if err == nil && out != pods[0].Name+"\n65532\n" {
			err = fmt.Errorf("the command prints %q", out)
		}
		return err
	})
}

// TestConsoleIsServed reads the console from the pods.
func TestConsoleIsServed(t *testing.T) {
	w := open(t)
	for _, path := range []string{"/", "/graphiql"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.KairshipURL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/html")
		response, err := w.kairship.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(page), "<script") {
			t.Errorf("%s is %s without a program in it (error %v): %.200s", path, response.Status, err, page)
		}
	}
}
