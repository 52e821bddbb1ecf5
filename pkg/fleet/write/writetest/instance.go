// Package writetest stands in for an instance that is written to, in tests of what
// a real one does too seldom: failing between two writes, or changing in between.
package writetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

// Name is the name of the instance.
const Name = "alpha"

// Instance holds objects and answers like an apiserver, as far as writes need it.
type Instance struct {
	// Before is called with every request about an object before it is answered, with the lock
	// held; it may change Objects, and an error that it returns is sent as the answer. Panicking
	// with http.ErrAbortHandler aborts the request without an answer.
	Before func(r *http.Request, path string) error
	// Allowed answers SelfSubjectAccessReviews, without the lock.
	Allowed func() bool

	mu      sync.Mutex
	version int
	// Objects are what is stored, by the path of the API.
	Objects map[string]map[string]any
	// Sent are the requests that were to change something, as `METHOD path`; those of
	// dry runs are not among them.
	Sent []string
}

// New starts an instance that serves some kinds, and gives the way to write to it.
func New(t testing.TB, kinds ...metav1.APIResource) (*Instance, *write.Writer) {
	t.Helper()
	i := &Instance{Objects: map[string]map[string]any{}, version: 100}
	mux := http.NewServeMux()
	mux.HandleFunc("/api", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	})
	groups := map[schema.GroupVersion][]metav1.APIResource{}
	for _, k := range kinds {
		gv := schema.GroupVersion{Group: k.Group, Version: k.Version}
		k.Verbs = metav1.Verbs{"get", "list", "create", "update", "patch", "delete"}
		k.Group, k.Version = "", ""
		groups[gv] = append(groups[gv], k)
	}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for gv, resources := range groups {
		at := "/api/v1"
		if gv.Group != "" {
			at = "/apis/" + gv.String()
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		}
		mux.HandleFunc(at, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: resources})
		})
	}
	mux.HandleFunc("/apis", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, list) })
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusCreated, authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: i.Allowed()}})
	})
	mux.Handle("/", i)
	return i, &write.Writer{
		Access:  access.New(authz.NewResolver(everything{}, nil, nil, nil)),
		Clients: fake.New(t, map[string]http.Handler{Name: mux}), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

// As returns a context of a user who may do everything in the instance.
func As(ctx context.Context) context.Context {
	return authz.WithUser(ctx, authz.User{Name: "editor"})
}

// AsWithoutSecrets returns a context of a user who may do everything in the instance except read
// the values of Secrets.
func AsWithoutSecrets(ctx context.Context) context.Context {
	return authz.WithUser(ctx, authz.User{Name: withoutSecrets})
}

const withoutSecrets = "editor without Secrets"

type everything struct{}

// Rules implements authz.RulesReviewer.
func (everything) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	status := &authorizationv1.SubjectRulesReviewStatus{}
	for _, resource := range []string{"instances", "instances/resources", "instances/secrets", "instances/management"} {
		if resource == "instances/secrets" && u.Name == withoutSecrets {
			continue
		}
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			APIGroups: []string{"kairship.io"}, Resources: []string{resource}, Verbs: []string{"*"}, ResourceNames: []string{Name},
		})
	}
	return status, nil
}

// Put stores an object as it is, under the next version.
func (i *Instance) Put(path string, object map[string]any) {
	u := unstructured.Unstructured{Object: object}
	if u.GetUID() == "" {
		i.version++
		unstructured.SetNestedField(object, fmt.Sprintf("uid-%d", i.version), "metadata", "uid") //nolint:errcheck // Test objects have metadata.
	}
	i.version++
	u.SetResourceVersion(strconv.Itoa(i.version))
	u.SetGeneration(u.GetGeneration() + 1)
	i.Objects[path] = object
}

// Get is what is stored at a path; nil when there is nothing.
func (i *Instance) Get(path string) *unstructured.Unstructured {
	i.mu.Lock()
	defer i.mu.Unlock()
	if o, ok := i.Objects[path]; ok {
		return &unstructured.Unstructured{Object: o}
	}
	return nil
}

// Written are the requests that changed something, in their order.
func (i *Instance) Written() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.Sent)
}

// ServeHTTP implements http.Handler.
func (i *Instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := map[string]any{}
	_ = utiljson.Unmarshal(raw, &body) // A patch in steps is none, and no test sends it.
	i.mu.Lock()
	defer i.mu.Unlock()
	path := r.URL.Path
	if r.Method == http.MethodPost {
		path += "/" + (&unstructured.Unstructured{Object: body}).GetName()
	}
	if i.Before != nil {
		if err := i.Before(r, path); err != nil {
			refuse(w, err)
			return
		}
	}
	stored, there := i.Objects[path]
	out, status, err := i.decide(r, stored, there, body)
	if err != nil {
		refuse(w, err)
		return
	}
	dryRun := r.URL.Query().Get("dryRun") != "" || strings.Contains(string(raw), `"dryRun":["All"]`)
	if r.Method != http.MethodGet && !dryRun {
		i.Sent = append(i.Sent, r.Method+" "+path)
		if r.Method == http.MethodDelete {
			delete(i.Objects, path)
		} else {
			i.Put(path, out)
		}
	}
	answer(w, status, out)
}

// decide is what becomes of a request.
func (i *Instance) decide(r *http.Request, stored map[string]any, there bool, body map[string]any) (map[string]any, int, error) {
	resource := schema.GroupResource{Resource: "objects"}
	u, given := unstructured.Unstructured{Object: stored}, unstructured.Unstructured{Object: body}
	moved := apierrors.NewConflict(resource, given.GetName(), fmt.Errorf("it moved"))
	switch {
	case r.Method == http.MethodPost && there:
		return nil, 0, apierrors.NewAlreadyExists(resource, given.GetName())
	case r.Method == http.MethodPost:
		return copied(body), http.StatusCreated, nil
	case r.Method == http.MethodPatch && !there && r.Header.Get("Content-Type") == "application/apply-patch+yaml" && given.GetResourceVersion() == "":
		return copied(body), http.StatusCreated, nil
	case !there:
		return nil, 0, apierrors.NewNotFound(resource, path(r))
	case r.Method == http.MethodGet:
		return stored, http.StatusOK, nil
	case r.Method == http.MethodDelete:
		uid, _, _ := unstructured.NestedString(body, "preconditions", "uid")
		if uid != "" && uid != string(u.GetUID()) {
			return nil, 0, moved
		}
		return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success", "details": map[string]any{"uid": string(u.GetUID())}}, http.StatusOK, nil
	}
	if v := given.GetResourceVersion(); v != "" && v != u.GetResourceVersion() {
		return nil, 0, moved
	}
	out := copied(body)
	if r.Method == http.MethodPatch {
		out = merge(copied(stored), copied(body))
	}
	after := unstructured.Unstructured{Object: out}
	after.SetUID(u.GetUID())
	after.SetResourceVersion(u.GetResourceVersion())
	return out, http.StatusOK, nil
}

func path(r *http.Request) string { return r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] }

func copied(o map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: o}).DeepCopy().Object
}

// merge puts the fields of one object into another.
func merge(into, from map[string]any) map[string]any {
	for key, value := range maps.All(from) {
		below, isMap := value.(map[string]any)
		was, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			into[key] = merge(was, below)
		default:
			into[key] = value
		}
	}
	return into
}

func refuse(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	if known, ok := err.(apierrors.APIStatus); ok {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	answer(w, int(status.Code), status)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // The client is not waiting when it fails.
}
