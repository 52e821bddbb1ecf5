package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/api/v1/kairshipv1/kairshipv1connect"
)

// fake is a Kairship with two instances.
type fake struct {
	kairshipv1connect.UnimplementedKairshipHandler

	header http.Header
}

func (f *fake) ListInstances(_ context.Context, req *connect.Request[kairshipv1.ListInstancesRequest]) (*connect.Response[kairshipv1.ListInstancesResponse], error) {
	f.header = req.Header()
	return connect.NewResponse(&kairshipv1.ListInstancesResponse{Result: &kairshipv1.InstanceConnection{
		Nodes: []*kairshipv1.Instance{{Name: new("alpha")}, {Name: new("beta")}},
	}}), nil
}

// ListWorkloads has two pages, and misses a part.
func (f *fake) ListWorkloads(_ context.Context, req *connect.Request[kairshipv1.ListWorkloadsRequest]) (*connect.Response[kairshipv1.ListWorkloadsResponse], error) {
	f.header = req.Header()
	of := func(instance, name string) *kairshipv1.Workload {
		return &kairshipv1.Workload{
			Instance: &kairshipv1.Instance{Name: &instance}, Namespace: new("shop"), Kind: kairshipv1.WorkloadKind_DEPLOYMENT, Name: &name,
			Health: kairshipv1.WorkloadHealth_DEGRADED, HealthMessage: new("a pod\ndoes not start"), Images: []string{"a:1", "b:2"},
		}
	}
	list := &kairshipv1.WorkloadConnection{PageInfo: &kairshipv1.PageInfo{HasNextPage: new(true), EndCursor: new("c")}}
	switch {
	case len(req.Msg.GetName()) == 1 && req.Msg.GetName()[0] == "nothing":
		list.PageInfo = nil
	case req.Msg.GetAfter() == "":
		list.Nodes = []*kairshipv1.Workload{of("alpha", "api")}
	default:
		list.Nodes = []*kairshipv1.Workload{of("beta", "web")}
		list.PageInfo = nil
	}
	return connect.NewResponse(&kairshipv1.ListWorkloadsResponse{
		Result: list, Errors: []*kairshipv1.Failure{{Message: "gamma does not answer", Code: "INSTANCE_UNAVAILABLE"}},
	}), nil
}

func (*fake) ListPropagationPolicies(_ context.Context, req *connect.Request[kairshipv1.ListPropagationPoliciesRequest]) (*connect.Response[kairshipv1.ListPropagationPoliciesResponse], error) {
	return connect.NewResponse(&kairshipv1.ListPropagationPoliciesResponse{Result: &kairshipv1.PropagationPolicyConnection{
		Nodes: []*kairshipv1.PropagationPolicy{{Name: new("of-" + req.Msg.GetInstance())}},
	}}), nil
}

func (*fake) DiffManifests(_ context.Context, req *connect.Request[kairshipv1.DiffManifestsRequest]) (*connect.Response[kairshipv1.DiffManifestsResponse], error) {
	result := &kairshipv1.ManifestPreview{Unchanged: new(int32(1))}
	if req.Msg.GetManifests() == "changes" {
		result.Changed = new(int32(1))
		result.Items = []*kairshipv1.ManifestPreviewItem{{
			ClusterName: new("m1"), Kind: new("Deployment"), Namespace: new("shop"), Name: new("api"), Effect: kairshipv1.ManifestEffect_CHANGED,
			Fields: []*kairshipv1.ManifestChange{{Path: new("/spec/replicas"), Before: new("1"), After: new("2")}}, TotalFields: new(int32(3)),
		}}
	}
	return connect.NewResponse(&kairshipv1.DiffManifestsResponse{Result: result}), nil
}

// execute runs a command against a fake.
func execute(t *testing.T, f *fake, in string, args ...string) (out, failed string, err error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(kairshipv1connect.NewKairshipHandler(f))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	streams, stdin, stdout, stderr := genericiooptions.NewTestIOStreams()
	stdin.WriteString(in)
	root := newRoot(streams)
	root.SetArgs(append(args, "--server", server.URL, "--token", "t"))
	err = root.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func TestGet(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a table":          {[]string{"get", "workloads"}, "INSTANCE   NAMESPACE   KIND         NAME   HEALTH\nalpha      shop        DEPLOYMENT   api    DEGRADED\nbeta       shop        DEPLOYMENT   web    DEGRADED\n"},
		"without headers":  {[]string{"get", "wl", "--no-headers"}, "alpha   shop   DEPLOYMENT   api   DEGRADED\nbeta    shop   DEPLOYMENT   web   DEGRADED\n"},
		"names":            {[]string{"get", "workloads", "-o", "name"}, "workloads/api\nworkloads/web\n"},
		"a path":           {[]string{"get", "workloads", "-o", "jsonpath={.items[*].instance.name}"}, "alpha beta"},
		"of each instance": {[]string{"get", "pp"}, "INSTANCE   NAME\nalpha      of-alpha\nbeta       of-beta\n"},
		"of one instance":  {[]string{"get", "pp", "-i", "beta"}, "INSTANCE   NAME\nbeta       of-beta\n"},
		"problems":         {[]string{"problems"}, "INSTANCE   NAMESPACE   KIND         NAME   HEALTH     BECAUSE\nalpha      shop        DEPLOYMENT   api    DEGRADED   a pod does not start\n"},
	} {
		f := &fake{}
		out, failed, err := execute(t, f, "", c.args...)
		if err != nil || out != c.want {
			t.Errorf("%s: %v:\n%s%s", name, err, out, failed)
		}
		if f.header != nil && f.header.Get("Authorization") != "Bearer t" {
			t.Errorf("%s: the token is missing", name)
		}
		if len(c.args) > 1 && c.args[1] == "workloads" && !strings.Contains(failed, "gamma does not answer (INSTANCE_UNAVAILABLE)") {
			t.Errorf("%s: what is missing is not reported: %s", name, failed)
		}
	}
	wide, _, err := execute(t, &fake{}, "", "get", "workloads", "-o", "wide")
	if err != nil || !strings.Contains(wide, "a:1,b:2") {
		t.Errorf("wide: %v: %s", err, wide)
	}
	if _, _, err := execute(t, &fake{}, "", "get", "workloads", "nothing"); err == nil {
		t.Error("a name that is none is no error")
	}
	if _, _, err := execute(t, &fake{}, "", "get", "things"); err == nil || !strings.Contains(err.Error(), "propagationpolicies") {
		t.Errorf("a noun that is none: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		want string
	}{
		"a difference":        {"changes", []string{"diff", "-i", "alpha", "-f", "-"}, exitDiffers, "m1: Deployment shop/api CHANGED\n  /spec/replicas\n  - 1\n  + 2\n  and 2 more fields\n"},
		"no difference":       {"same", []string{"diff", "-i", "alpha", "-f", "-"}, 0, ""},
		"a preview":           {"changes", []string{"preview", "-i", "alpha", "-f", "-"}, exitDiffers, "changed                        1\n"},
		"without manifests":   {"", []string{"diff", "-i", "alpha"}, exitFailed, ""},
		"without a file":      {"", []string{"diff", "-i", "alpha", "-f", "nothing.yaml"}, exitFailed, ""},
		"without an instance": {"same", []string{"apply", "-f", "-"}, exitFailed, ""},
		"problems":            {"", []string{"problems", "--exit-code"}, exitDiffers, "api"},
		"no such method":      {"", []string{"tree", "a", "-i", "alpha", "-n", "shop"}, exitFailed, ""},
	} {
		out, failed, err := execute(t, &fake{}, c.in, c.args...)
		if code := exitCode(err); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d, %v: %s%s", name, code, err, out, failed)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	for address, want := range map[string]string{
		"http://kairship.example.com": "not encrypted", "": "finding Kairship", "nonsense://": "no address",
	} {
		o := newOptions(genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
		*o.kube.APIServer = address
		if _, err := o.config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	t.Setenv(serverVariable, "https://kairship.example.com/instances/alpha/proxy")
	o := newOptions(genericiooptions.IOStreams{})
	if config, err := o.config(); err != nil || config.Server != "https://kairship.example.com" {
		t.Errorf("got %v, %v", config.Server, err)
	}
}

// TestNouns finds a noun for each list of the API but those of one object.
func TestNouns(t *testing.T) {
	names := map[string]bool{}
	for _, n := range nouns() {
		names[n.name] = true
	}
	for _, want := range []string{"workloads", "pods", "instances", "clusters", "memberclusters", "clusternodes", "propagationpolicies", "federatedhpas", "rolebindings", "activity"} {
		if !names[want] {
			t.Errorf("there is no noun %s in %v", want, names)
		}
	}
	for name := range names {
		if strings.Contains(name, "timeline") || strings.Contains(name, "event") && name != "instanceevents" {
			t.Errorf("%s is no noun", name)
		}
	}
	for alias, noun := range short {
		if !names[noun] {
			t.Errorf("%s stands for %s, which is no noun", alias, noun)
		}
	}
	of, err := findNoun("deployments.v1.apps")
	if err != nil || of.method.Name() != protoreflect.Name("ListResources") || of.resource.Group != "apps" || of.resource.Version != "v1" {
		t.Errorf("got %v, %v", of, err)
	}
}

func TestParseWorkload(t *testing.T) {
	for text, want := range map[string]reference{
		"frontend":                {name: "frontend", kind: kairshipv1.WorkloadKind_DEPLOYMENT},
		"sts/cart":                {name: "cart", kind: kairshipv1.WorkloadKind_STATEFUL_SET},
		"Rollout.argoproj.io/web": {name: "web", kind: kairshipv1.WorkloadKind_CUSTOM, customKind: new("Rollout.argoproj.io")},
	} {
		got, err := parseWorkload(text)
		if err != nil || got.name != want.name || got.kind != want.kind || (got.customKind == nil) != (want.customKind == nil) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "deployment/", "house/a", "a/b/c"} {
		if got, err := parseWorkload(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	if got := describe(errors.New("plain")); got != "plain" {
		t.Errorf("got %s", got)
	}
}
