package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

// served is the upstream of a handler.
func served(t *testing.T, handler http.HandlerFunc) upstream {
	t.Helper()
	h, err := New(Options{Clients: fake.New(t, map[string]http.Handler{"alpha": handler}), Global: http.DefaultTransport, Keys: keys{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h.dial(alpha)
}

func TestListIsReadPageByPage(t *testing.T) {
	var asked []string
	up := served(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		if got := r.Header.Get("Impersonate-User"); got != "" {
			t.Errorf("it was asked as %q", got)
		}
		next, name := `,"continue":"more"`, "a"
		if r.URL.Query().Get("continue") != "" {
			next, name = "", "b"
		}
		fmt.Fprintf(w, `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"7"%s},"items":[{"metadata":{"namespace":"n","name":%q,"resourceVersion":"5"}}]}`, next, name)
	})
	l, err := up.list(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/apis/apps/v1/deployments?limit=1000&resourceVersion=7&resourceVersionMatch=Exact",
		"/apis/apps/v1/deployments?continue=more&limit=1000",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("what was asked (-want +got):\n%s", diff)
	}
	if l.version != 7 || len(l.objects) != 2 {
		t.Errorf("version %d with %d objects, want 7 with 2", l.version, len(l.objects))
	}
	const raw = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"n","name":"a","resourceVersion":"5"}}`
	if got := string(l.objects[Key{"n", "a"}].Raw); got != raw {
		t.Errorf("an item became %s, want %s", got, raw)
	}
}

// TestMetadataOnly: the cluster is asked for no more than the metadata of the objects,
// and for its own identity as usual.
func TestMetadataOnly(t *testing.T) {
	asked := map[string]string{}
	source := alpha
	source.MetadataOnly = true
	h, err := New(Options{Clients: fake.New(t, map[string]http.Handler{"alpha": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path+" "+r.URL.Query().Get("watch")] = r.Header.Get("Accept")
		fmt.Fprint(w, `{"metadata":{"uid":"u","resourceVersion":"7"},"items":[]}`)
	})}), Global: http.DefaultTransport, Keys: keys{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	up := h.dial(source)
	if _, err := up.list(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := up.epoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := up.watch(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	w.close()
	want := map[string]string{
		"/apis/apps/v1/deployments ":      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
		"/apis/apps/v1/deployments true":  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		"/api/v1/namespaces/kube-system ": "application/json",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("forms that were asked for (-want +got):\n%s", diff)
	}
}

func TestFailuresOfAnUpstream(t *testing.T) {
	for _, tc := range []struct {
		reason string
		code   int
		body   string
		want   error
		shown  apierror.Code
	}{
		{"a version that was dropped", 410, `{"kind":"Status","code":410,"message":"too old resource version"}`, errExpired, apierror.CodeInstanceUnavailable},
		{"a resource that is not served", 404, `404 page not found`, errNotServed, apierror.CodeNotFound},
		{"a resource that can't be watched", 405, `{"kind":"Status","code":405}`, errNotServed, apierror.CodeNotFound},
		{"an old cluster refuses to begin with a list", 422, `{"kind":"Status","code":422,"message":"sendInitialEvents is forbidden"}`, errNoWatchList, apierror.CodeInstanceUnavailable},
		{"a version of the future", 504, `{"kind":"Status","code":504,"message":"Too large resource version","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`, errOtherHistory, apierror.CodeInstanceUnavailable},
	} {
		up := served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.code)
			fmt.Fprint(w, tc.body)
		})
		_, err := up.watch(t.Context(), 0)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
		}
		if code := apierror.CodeOf(explain(alpha, err)); code != tc.shown {
			t.Errorf("%s is shown as %s, want %s", tc.reason, code, tc.shown)
		}
	}
}

func TestWatchOverHTTP(t *testing.T) {
	up := served(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("watch") != "true" || q.Get("allowWatchBookmarks") != "true" || q.Get("resourceVersion") != "9" || q.Get("sendInitialEvents") != "" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		for _, line := range []string{
			`{"type":"MODIFIED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n","resourceVersion":"10","managedFields":[{"manager":"m"}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"spec":{"replicas":1}}}`,
			`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`,
			`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
			`{"type":"ERROR","object":{"kind":"Status","code":410}}`,
		} {
			fmt.Fprintln(w, line)
		}
	})
	w, err := up.watch(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	first, err := w.next()
	if err != nil {
		t.Fatal(err)
	}
	const raw = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n","resourceVersion":"10"},"spec":{"replicas":1}}`
	if first.kind != "MODIFIED" || first.version != 10 || string(first.object.Raw) != raw || first.object.Meta.ManagedFields != nil || first.object.Meta.Annotations != nil {
		t.Errorf("a change is %+v with %s", first, first.object.Raw)
	}
	if f, err := w.next(); err != nil || f.version != 12 || f.object != nil || f.listed {
		t.Errorf("a bookmark is %+v, %v", f, err)
	}
	if f, err := w.next(); err != nil || f.version != 13 || !f.listed {
		t.Errorf("the end of the list is %+v, %v", f, err)
	}
	if _, err := w.next(); !errors.Is(err, errExpired) {
		t.Errorf("the end: %v, want that it expired", err)
	}
	if _, err := w.next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
}

func TestTrim(t *testing.T) {
	d := decoder{source: alpha, now: time.Now}
	for _, tc := range []struct{ reason, in, want string }{
		{"other annotations stay", `{"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"x"},"resourceVersion":"1"}}`, `{"metadata":{"annotations":{"a":"b"},"resourceVersion":"1"}}`},
		{"other metadata is not the object's own", `{"metadata":{"resourceVersion":"1"},"spec":{"template":{"metadata":{"managedFields":1}}}}`, `{"metadata":{"resourceVersion":"1"},"spec":{"template":{"metadata":{"managedFields":1}}}}`},
		{"names are quoted again", `{"metadata":{"resourceVersion":"1"},"da\"ta":1}`, `{"metadata":{"resourceVersion":"1"},"da\"ta":1}`},
		{"spaces between do not matter", "{ \"metadata\" : { \"resourceVersion\" : \"1\" } , \"x\" : [ 1 ] }", `{"metadata":{"resourceVersion":"1"},"x":[ 1 ]}`},
	} {
		f, err := d.frameOf([]byte(`{"type":"ADDED","object":` + tc.in + `}`))
		if err != nil {
			t.Errorf("%s: %v", tc.reason, err)
			continue
		}
		if got := string(f.object.Raw); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
		}
	}
	for _, bad := range []string{``, `[]`, `{"type":"ADDED"}`, `{"type":"ADDED","object":{}}`, `{"type":"ADDED","object":{"metadata":{"resourceVersion":"x"}}}`, `{"type":"HELLO","object":{}}`} {
		if _, err := d.frameOf([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzCursor(f *testing.F) {
	s := newSealer(theKey, "test")
	good := s.write([]placed{{partID{1}, place{scope: 7, position: position{
		{stamp: &stamp{versions: []uint64{5, 6}, epoch: 9}, last: Key{"n", "a"}, open: true}, {last: Key{"n", "a"}}, {stamp: &stamp{versions: []uint64{4}}, end: true},
	}}}})
	f.Add(good)
	f.Add("")
	f.Add(good[:30])
	f.Fuzz(func(t *testing.T, text string) {
		places, err := s.read(t.Context(), keys{}, text)
		if err != nil && !apierror.Is(err, apierror.CodeInvalid) {
			t.Errorf("an error that is not the caller's: %v", err)
		}
		if err == nil && len(places) > 0 {
			var all []placed
			for id, at := range places {
				all = append(all, placed{id, at})
			}
			if len(all) == 1 && s.write(all) != text {
				t.Error("what was read is written otherwise")
			}
		}
	})
}
