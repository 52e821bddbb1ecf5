package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// objectOf is an object of a kind in the member cluster m1.
func objectOf(t *testing.T, kind Kind, text string) *Resource {
	t.Helper()
	o, err := index.NewStored(index.Key{Cluster: "m1", Type: index.Type{Group: kind.Group, Version: kind.Version, Resource: kind.Resource}}, []byte(text), index.Whole)
	if err != nil {
		t.Fatal(err)
	}
	return New("alpha", kind, o, freshness.Freshness{})
}

var (
	ingresses   = Kind{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	deployments = Kind{Group: "apps", Version: "v1", Resource: "deployments"}
	daemonSets  = Kind{Group: "apps", Version: "v1", Resource: "daemonsets"}
	jobs        = Kind{Group: "batch", Version: "v1", Resource: "jobs"}
	cronJobs    = Kind{Group: "batch", Version: "v1", Resource: "cronjobs"}
	configMaps  = Kind{Version: "v1", Resource: "configmaps"}
)

func TestService(t *testing.T) {
	s, err := objectOf(t, services, `{"spec":{"type":"LoadBalancer","clusterIPs":["10.0.0.1","None"],"externalIPs":["192.0.2.1"],
		"ports":[{"name":"web","port":80,"targetPort":"http","nodePort":30080},{"protocol":"UDP","port":53,"targetPort":5353}],
		"selector":{"app":"web"}},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.2"},{"hostname":"lb.example.com"}]}}}`).Service()
	if err != nil {
		t.Fatal(err)
	}
	want := &ServiceView{
		Type: "LoadBalancer", ClusterIPs: []string{"10.0.0.1"}, Addresses: []string{"192.0.2.1", "192.0.2.2", "lb.example.com"},
		Ports:    []ServicePort{{new("web"), "TCP", 80, "http", new(30080)}, {nil, "UDP", 53, "5353", nil}},
		Selector: []object.Pair{{Key: "app", Value: "web"}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	s, err = objectOf(t, services, `{"spec":{"type":"ExternalName","externalName":"db.example.com"}}`).Service()
	if err != nil || *s.ExternalName != "db.example.com" || len(s.Ports)+len(s.ClusterIPs)+len(s.Addresses)+len(s.Selector) != 0 {
		t.Errorf("an external name: %+v, %v", s, err)
	}
}

func TestIngress(t *testing.T) {
	i, err := objectOf(t, ingresses, `{"spec":{"ingressClassName":"nginx","tls":[{"hosts":["shop.example.com"]}],
		"defaultBackend":{"service":{"name":"other","port":{"number":8080}}},
		"rules":[{"host":"none.example.com"},{"host":"shop.example.com","http":{"paths":[
			{"path":"/cart","pathType":"Prefix","backend":{"service":{"name":"cart","port":{"name":"http"}}}},
			{"pathType":"ImplementationSpecific","backend":{"resource":{"kind":"Bucket","name":"static"}}}]}}]},
		"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.3"}]}}}`).Ingress()
	if err != nil {
		t.Fatal(err)
	}
	want := &IngressView{ClassName: new("nginx"), Addresses: []string{"192.0.2.3"}, TLSHosts: []string{"shop.example.com"}, Rules: []IngressRule{
		{Host: new("shop.example.com"), Path: new("/cart"), PathType: new("Prefix"), ServiceName: new("cart"), ServicePort: new("http")},
		{Host: new("shop.example.com")},
		{ServiceName: new("other"), ServicePort: new("8080")},
	}}
	if diff := cmp.Diff(want, i); diff != "" {
		t.Error(diff)
	}
}

func TestRuns(t *testing.T) {
	const template = `"template":{"spec":{"containers":[{"name":"main","image":"web:1"}]}}`
	for _, tt := range []struct {
		why  string
		of   Kind
		text string
		want *Runs
	}{
		{"a Deployment", deployments, `{"spec":{"replicas":3,` + template + `},"status":{"observedGeneration":1,"readyReplicas":2}}`, &Runs{[]string{"web:1"}, new(3), new(2)}},
		{"one that nothing has observed", deployments, `{"spec":{` + template + `}}`, &Runs{[]string{"web:1"}, new(1), nil}},
		{"a DaemonSet", daemonSets, `{"spec":{` + template + `},"status":{"observedGeneration":1,"desiredNumberScheduled":4,"numberReady":4}}`, &Runs{[]string{"web:1"}, new(4), new(4)}},
		{"one that nothing has observed", daemonSets, `{"spec":{` + template + `}}`, &Runs{[]string{"web:1"}, nil, nil}},
		{"a Job", jobs, `{"spec":{"parallelism":2,"completions":5,` + template + `},"status":{"succeeded":1}}`, &Runs{[]string{"web:1"}, new(5), new(1)}},
		{"a CronJob", cronJobs, `{"spec":{"jobTemplate":{"spec":{` + template + `}}}}`, &Runs{[]string{"web:1"}, nil, nil}},
		{"another kind", configMaps, `{}`, nil},
	} {
		got, err := objectOf(t, tt.of, tt.text).Runs()
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s of %s: %v\n%s", tt.why, tt.of.Resource, err, diff)
		}
	}
}

// TestDetailsOfOtherKinds: no other kind has them, of whatever API group.
func TestDetailsOfOtherKinds(t *testing.T) {
	for _, of := range []Kind{configMaps, {Group: "serving.example.com", Version: "v1", Resource: "services"}, {Group: "networking.k8s.io", Version: "v1beta1", Resource: "ingresses"}} {
		r := objectOf(t, of, `{"spec":"none of these"}`)
		s, e1 := r.Service()
		i, e2 := r.Ingress()
		runs, e3 := r.Runs()
		if s != nil || i != nil || runs != nil || e1 != nil || e2 != nil || e3 != nil {
			t.Errorf("%v: %v %v %v, %v %v %v", of, s, i, runs, e1, e2, e3)
		}
	}
}
