package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// firstQuery asks across all instances, and is short enough to be typed.
const firstQuery = `{ instances { nodes { name state workloads { totalCount nodes { kind namespace name health } } } } }`

// PrintWelcome says what there is and how to use it. With ask, it also asks the first query and
// shows the answer: the whole fleet, from the members' pods to the API, is seen to work.
func (f *Fleet) PrintWelcome(ctx context.Context, out io.Writer, ask bool) {
	var names []string
	for _, c := range topology.Clusters() {
		names = append(names, c.Name)
	}
	url := "http://" + f.ports.Addr("kairship/api")
	if !f.settings.WithoutKairship {
		printf(out, "\nConsole    %s\n", url)
	}
	kubectlWith := func(kubeconfig, args string) string {
		return fmt.Sprintf("KUBECONFIG=%s %s %s", quoted(kubeconfig), quoted(f.paths.Binary("kubectl")), args)
	}
	kubectl := func(cluster, args string) string { return kubectlWith(f.paths.Kubeconfig(cluster), args) }
	printf(out, "\nClusters   %s, for example\n           %s\n", strings.Join(names, ", "), kubectl("alpha", "get clusters,deployments -A"))
	printf(out, "People     %s\n           their bearer tokens are in %s\n", people(f.settings.WithoutKairship), f.paths.Token(""))
	if f.settings.Provider != "" {
		printf(out, "           their passwords for signing in are in %s\n", f.paths.Passwords())
	}
	if f.settings.WithoutKairship {
		printf(out, "Index      %s\n", kubectl("global", "get --raw '/apis/clusterpedia.io/v1beta1/resources/apis/apps/v1/deployments?limit=5'"))
		return
	}
	printf(out, "kubectl    as a person, through Kairship (%s), for example\n           %s\n",
		f.ports.URL("kairship/tls"), kubectlWith(f.paths.PersonKubeconfig("alice", "alpha"), "get deployments -n shop"))
	printf(out, "GraphQL    %s/graphql\nGraphiQL   %s/graphiql\n\nA first query:\n\n", url, url)
	printf(out, "  curl -s %s/graphql \\\n    -H \"Authorization: Bearer $(cat %s)\" \\\n    -H 'Content-Type: application/json' \\\n    -d '{\"query\": \"%s\"}'\n",
		url, quoted(f.paths.Token("admin")), firstQuery)
	if !ask {
		return
	}
	answer, err := f.ask(ctx, url+"/graphql")
	if err != nil {
		printf(out, "\nwhich does not work now: %v\n", err)
		return
	}
	printf(out, "\nwhich answers:\n\n%s", answer)
}

// people says who there is, and what they may do.
func people(withoutKairship bool) string {
	if withoutKairship {
		return strings.Join(topology.People(), ", ")
	}
	all := make([]string, len(topology.People()))
	for i, person := range topology.People() {
		var roles []string
		for _, b := range topology.Bindings() {
			if b.Person == person {
				roles = append(roles, b.Role+" on "+b.Instance)
			}
		}
		switch {
		case person == "admin":
			roles = []string{"everything"}
		case len(roles) == 0:
			roles = []string{"nothing"}
		}
		all[i] = fmt.Sprintf("%s (%s)", person, strings.Join(roles, ", "))
	}
	return strings.Join(all, ", ")
}

// quoted makes a path one word of a shell command.
func quoted(path string) string {
	if !strings.ContainsAny(path, " \t\"'$`\\&;()<>|*?[]#~") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// ask sends the first query as admin and returns the answer for people.
func (f *Fleet) ask(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	token, err := os.ReadFile(f.paths.Token("admin"))
	if err != nil {
		return "", err
	}
	query, err := json.Marshal(map[string]string{"query": firstQuery})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(query))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, body)
	}
	return brief(body)
}

// brief indents an answer, with the innermost objects on one line each: fully indented it would fill
// three screens.
func brief(body []byte) (string, error) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "  ", "  "); err != nil {
		return "", fmt.Errorf("the answer is not JSON: %w", err)
	}
	var out strings.Builder
	var object []string // an innermost object so far: its opening line and its fields
	for line := range strings.SplitSeq(indented.String(), "\n") {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(text, "{"):
			out.WriteString(lines(object))
			object = []string{line}
		case object != nil && strings.HasPrefix(text, "}"):
			out.WriteString(object[0] + " " + strings.Join(trimmed(object[1:]), " ") + " " + text + "\n")
			object = nil
		case object != nil && !strings.HasSuffix(text, "["):
			object = append(object, line)
		default:
			out.WriteString(lines(object) + line + "\n")
			object = nil
		}
	}
	text := out.String()
	return "  " + text, nil
}

func lines(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return strings.Join(of, "\n") + "\n"
}

func trimmed(of []string) []string {
	out := make([]string, len(of))
	for i, text := range of {
		out[i] = strings.TrimSpace(text)
	}
	return out
}
