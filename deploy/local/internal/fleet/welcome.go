package fleet

import (
	"fmt"
	"io"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// firstQuery asks across all instances, and is short enough to be typed.
const firstQuery = `{ instances { nodes { name state workloads { totalCount nodes { kind namespace name health } } } } }`

// PrintWelcome says what there is and shows a first query.
func (f *Fleet) PrintWelcome(out io.Writer) {
	fmt.Fprintf(out, "\nClusters    ")
	for _, c := range topology.Clusters() {
		fmt.Fprintf(out, "%s ", c.Name)
	}
	fmt.Fprintf(out, "\n            KUBECONFIG=%s %s get clusters\n", f.paths.Kubeconfig("alpha"), f.paths.Binary("kubectl"))
	fmt.Fprintf(out, "Tokens      %s  (of the global cluster: admin, alice, bob, mallory)\n", f.paths.Token("<person>"))
	if f.settings.WithoutKairship {
		fmt.Fprintf(out, "Index       %s get --raw '/apis/clusterpedia.io/v1beta1/resources/apis/apps/v1/deployments?limit=5'\n",
			"KUBECONFIG="+f.paths.Kubeconfig("global")+" "+f.paths.Binary("kubectl"))
		return
	}
	url := "http://" + f.ports.Addr("kairship/api")
	fmt.Fprintf(out, "GraphQL     %s/graphql\nGraphiQL    %s/graphiql\n\nA first query:\n\n", url, url)
	fmt.Fprintf(out, "  curl -s %s/graphql \\\n    -H \"Authorization: Bearer $(cat %s)\" -H 'Content-Type: application/json' \\\n    -d '{\"query\": \"%s\"}'\n",
		url, f.paths.Token("admin"), firstQuery)
}
