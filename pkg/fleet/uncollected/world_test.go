package uncollected

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// value is the value of each Secret, in base64.
const value = "dmFsdWU="

// apiServer is an instance's own API server, with an RBAC of its own.
type apiServer struct {
	mu      sync.Mutex
	kinds   *instanceproxy.Discovery
	objects map[string][]map[string]any
	// asked are the requests except discovery: the user, the resource and the size.
	asked []string
	// discoveries is how often it was asked what it serves.
	discoveries int
	// forbids refuses a user, empty for Kairship itself, a path.
	forbids func(user, path string) bool
}

// add adds an object of a resource.
func (s *apiServer) add(resource, namespace, name string) {
	o := map[string]any{"metadata": map[string]any{
		"namespace": namespace, "name": name, "uid": namespace + "-" + name, "labels": map[string]any{"app": name},
		"creationTimestamp": now.Format(time.RFC3339), "managedFields": []any{map[string]any{"manager": "x"}},
		"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": value, "team": "storefront"},
	}}
	if strings.HasSuffix(resource, "secrets") {
		o["data"] = map[string]any{"password": value}
	}
	s.objects[resource] = append(s.objects[resource], o)
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.discover(w, r.URL.Path) {
		return
	}
	user := r.Header.Get("Impersonate-User")
	metadataOnly := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
	detail := "whole"
	if metadataOnly {
		detail = "metadata"
	}
	s.asked = append(s.asked, strings.TrimSpace(user+" "+r.URL.Path+" "+detail))
	if s.forbids != nil && s.forbids(user, r.URL.Path) {
		status(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	for _, list := range s.kinds.Resources {
		for _, k := range list.APIResources {
			root := "/apis/" + list.GroupVersion
			if !strings.Contains(list.GroupVersion, "/") {
				root = "/api/" + list.GroupVersion
			}
			segments := strings.Split(strings.TrimPrefix(r.URL.Path, root+"/"), "/")
			namespace := ""
			if len(segments) > 2 && segments[0] == "namespaces" {
				namespace, segments = segments[1], segments[2:]
			}
			if !strings.HasPrefix(r.URL.Path, root+"/") || segments[0] != k.Name {
				continue
			}
			s.answer(w, r, s.objects[root+"/"+k.Name], namespace, strings.Join(segments[1:], "/"), metadataOnly)
			return
		}
	}
	status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
}

// answer answers with an object or a list, page by page.
func (s *apiServer) answer(w http.ResponseWriter, r *http.Request, all []map[string]any, namespace, name string, metadataOnly bool) {
	named, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	var found []any
	for _, o := range all {
		meta := o["metadata"].(map[string]any)
		if (namespace == "" || meta["namespace"] == namespace) && (name == "" || meta["name"] == name) && (named == "" || meta["name"] == named) {
			o = maps.Clone(o)
			if metadataOnly {
				o = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": meta}
			}
			found = append(found, o)
		}
	}
	if name != "" {
		if len(found) == 0 {
			status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		one := found[0].(map[string]any)
		one["apiVersion"], one["kind"] = "v1", "Secret"
		send(w, one)
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	meta := map[string]any{}
	if to := from + limit; limit > 0 && to < len(found) {
		found, meta["continue"] = found[:to], strconv.Itoa(to)
	}
	send(w, map[string]any{"metadata": meta, "items": append([]any{}, found[from:]...)})
}

func (s *apiServer) discover(w http.ResponseWriter, path string) bool {
	switch path {
	case "/api":
		s.discoveries++
		send(w, metav1.APIVersions{Versions: []string{"v1"}})
		return true
	case "/apis":
		var groups metav1.APIGroupList
		for _, g := range s.kinds.Groups {
			if g.Name != "" {
				groups.Groups = append(groups.Groups, *g)
			}
		}
		send(w, groups)
		return true
	}
	for _, list := range s.kinds.Resources {
		if path == "/api/"+list.GroupVersion || path == "/apis/"+list.GroupVersion {
			send(w, list)
			return true
		}
	}
	return false
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	send(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason})
}

func send(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// requests are what was asked since it was asked last.
func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := slices.Sorted(slices.Values(s.asked))
	s.asked = nil
	return asked
}

// people of instance alpha, by their rules in the global cluster.
var people = map[string][]authorizationv1.ResourceRule{
	"mallory": nil,
	"viewer":  {rule("get list watch", "instances instances/resources", "alpha")},
	"alice":   {rule("get list watch", "instances instances/resources", "alpha"), rule("get", "instances/secrets", "alpha")},
	"admin":   {rule("*", "*", "")},
	"shop":    {rule("get", "instances", "alpha"), rule("get list watch", "instances/namespaces", "alpha:shop"), rule("get", "instances/secrets", "alpha:shop")},
}

func rule(verbs, resources, names string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{
		APIGroups: []string{"kairship.io"}, Verbs: strings.Fields(verbs), Resources: strings.Fields(resources), ResourceNames: strings.Fields(names),
	}
}

type rules struct{}

// Rules implements authz.RulesReviewer.
func (rules) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: people[u.Name]}, nil
}

func as(t *testing.T, person string) context.Context {
	t.Helper()
	return authz.WithUser(t.Context(), authz.User{Name: person})
}

// world is an instance alpha with Secrets and ConfigMaps, of which the index has none.
func world(t *testing.T) (*Source, *apiServer) {
	t.Helper()
	server := &apiServer{kinds: kinds(), objects: map[string][]map[string]any{}}
	server.kinds.Groups, server.kinds.Resources = server.kinds.Groups[:4], server.kinds.Resources[:5]
	for _, namespace := range []string{"shop", "ops", "karmada-cluster"} {
		for i := range 2 {
			server.add("/api/v1/secrets", namespace, fmt.Sprintf("s%d", i))
			server.add("/api/v1/configmaps", namespace, fmt.Sprintf("c%d", i))
		}
	}
	server.add("/api/v1/nodes", "", "n0")
	clock := func() time.Time { return now }
	inventory := fleettest.Inventory(t)
	return New(Config{
		Clients:     fake.New(t, map[string]http.Handler{"alpha": server, "down": fake.Unavailable}),
		Permissions: authz.NewResolver(rules{}, nil, clock, nil),
		Watched:     inventory,
		Freshness:   &freshness.Tracker{Inventory: inventory, Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)},
		Now:         clock,
	}), server
}
