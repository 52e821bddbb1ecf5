package podlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

// members answers requests for logs as Karmada's proxy does, by the name of the member.
type members struct {
	mu    sync.Mutex
	asked []string
	user  string
	at    map[string]http.HandlerFunc
}

// ServeHTTP implements http.Handler.
func (m *members) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/apis/cluster.karmada.io/v1alpha1/clusters/")
	member, path, _ := strings.Cut(rest, "/proxy")
	m.mu.Lock()
	m.asked = append(m.asked, member+" "+path+"?"+r.URL.RawQuery)
	m.user = r.Header.Get("Impersonate-User")
	answer := m.at[member]
	m.mu.Unlock()
	if !ok || answer == nil {
		refuse(w, http.StatusNotFound, "cluster.karmada.io")
		return
	}
	answer(w, r)
}

// refuse answers with a Status about something of a group.
func refuse(w http.ResponseWriter, code int, group string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Code: int32(code), Message: "secret words of a member",
		Details: &metav1.StatusDetails{Group: group},
	})
}

func refusing(code int, group string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, group) }
}

func writing(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// second is the timestamp of a line.
func second(n int) string { return fmt.Sprintf("2026-01-01T00:00:%02d.000000001Z ", n) }

func serviceOver(t *testing.T, m *members) (*Service, context.Context) {
	t.Helper()
	return &Service{Clients: fake.New(t, map[string]http.Handler{"alpha": m})}, authz.WithUser(t.Context(), authz.User{Name: "alice"})
}

func container(cluster, pod, name string) target {
	return target{Container: Container{Cluster: cluster, Namespace: "shop", Pod: pod, Name: name}}
}

// texts are lines as text, with the containers that they are of.
func texts(lines []Line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Cluster+"/"+l.Pod+"/"+l.Name+" "+l.Text)
	}
	return out
}

func TestReadMerges(t *testing.T) {
	m := &members{at: map[string]http.HandlerFunc{
		"m1": func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Query().Get("container") {
			case "init":
				refuse(w, http.StatusBadRequest, "")
				return
			case "waiting":
				w.WriteHeader(http.StatusNoContent)
				return
			case "gone":
				_, _ = io.WriteString(w, "unable to retrieve container logs for containerd://0123")
				return
			case "quotes":
				_, _ = io.WriteString(w, second(7)+"unable to retrieve container logs for nothing\nunable to retrieve container logs for all\n")
				return
			}
			_, _ = io.WriteString(w, second(1)+"one\n"+second(5)+"five\n"+second(5)+"and more\nwithout a time\n")
		},
		"m2": writing(second(3) + "three\n" + second(9) + "nine"),
		"m3": refusing(http.StatusForbidden, "cluster.karmada.io"),
		"m4": refusing(http.StatusForbidden, ""),
		"m5": refusing(http.StatusServiceUnavailable, ""),
		"m6": refusing(http.StatusNotFound, ""),
	}}
	s, ctx := serviceOver(t, m)
	found := &targets{containers: []target{
		container("m1", "a", "main"), container("m1", "a", "init"), container("m1", "w", "waiting"), container("m1", "w", "gone"), container("m1", "w", "quotes"), container("m2", "b", "main"), container("m3", "c", "main"),
		container("m3", "d", "main"), container("m4", "e", "main"), container("m5", "f", "main"), container("m6", "g", "main"), container("m7", "h", "main"),
	}}
	tail := 7
	logs, err := s.read(ctx, "alpha", found, Args{Tail: &tail})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"m1/a/main one", "m2/b/main three", "m1/a/main five", "m1/a/main and more", "m1/a/main without a time",
		"m1/w/quotes unable to retrieve container logs for nothing", "m1/w/quotes unable to retrieve container logs for all", "m2/b/main nine"}
	if d := cmp.Diff(want, texts(logs.Lines)); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	if last := logs.Lines[4]; last.Time != nil {
		t.Errorf("a line without a time has %v", last.Time)
	}
	var omitted []string
	for _, o := range logs.Omitted {
		omitted = append(omitted, o.Cluster+"/"+o.Pod+"/"+o.Name+" "+o.Message)
	}
	reach := `the roles that you have inside instance "alpha" do not let you reach its member cluster "m3" (clusters/proxy)`
	inside := `the roles that you have inside member cluster "m4" do not let you read logs there (pods/log)`
	silent := `member cluster "m5" does not answer through instance "alpha"`
	left := `member cluster "m7" is no longer joined to instance "alpha"`
	if d := cmp.Diff([]string{
		"m1/a/init the container has not started, or the node cannot read its log", "m1/w/waiting the pod has no node yet", "m1/w/gone the node no longer has it", "m3/c/main " + reach, "m3/d/main " + reach,
		"m4/e/main " + inside, "m5/f/main " + silent, "m6/g/main the pod no longer exists", "m7/h/main " + left,
	}, omitted); d != "" {
		t.Errorf("omitted (-want +got):\n%s", d)
	}
	var failed []string
	for _, err := range logs.Errors {
		e, _ := errors.AsType[*apierror.Error](err)
		failed = append(failed, fmt.Sprintf("%s %s: %s", e.Code, e.Instance, e.Message))
	}
	if d := cmp.Diff([]string{
		"FORBIDDEN alpha: " + reach, "FORBIDDEN alpha: " + inside, "INSTANCE_UNAVAILABLE alpha: " + silent, "INSTANCE_UNAVAILABLE alpha: " + left,
	}, failed); d != "" {
		t.Errorf("one error for each member that failed (-want +got):\n%s", d)
	}
	if len(m.asked) != len(found.containers) || m.user != "alice" {
		t.Errorf("%d requests for %d containers, as %q", len(m.asked), len(found.containers), m.user)
	}
	if want := "m2 /api/v1/namespaces/shop/pods/b/log?container=main&tailLines=7&timestamps=true"; !slices.Contains(m.asked, want) {
		t.Errorf("not asked %q: %q", want, m.asked)
	}
}

func TestReadSince(t *testing.T) {
	m := &members{at: map[string]http.HandlerFunc{"m1": writing("2026-01-01T00:00:01.25Z early\n2026-01-01T00:00:01.75Z late\n")}}
	s, ctx := serviceOver(t, m)
	since := time.Date(2026, 1, 1, 0, 0, 1, 500_000_000, time.UTC)
	logs, err := s.read(ctx, "alpha", &targets{containers: []target{container("m1", "a", "main")}}, Args{Since: &since, Previous: true})
	if err != nil || len(logs.Lines) != 1 || logs.Lines[0].Text != "late" {
		t.Errorf("%+v %v: a kubelet is asked by the second", logs, err)
	}
	if want := "m1 /api/v1/namespaces/shop/pods/a/log?container=main&previous=true&sinceTime=2026-01-01T00%3A00%3A01Z&tailLines=100&timestamps=true"; m.asked[0] != want {
		t.Errorf("asked %s", m.asked[0])
	}
}

// What is beyond a limit is named.
func TestReadLimits(t *testing.T) {
	line := second(1) + strings.Repeat("x", 1000) + "\n"
	m := &members{at: map[string]http.HandlerFunc{
		"m1": writing(strings.Repeat(line, 30) + second(2) + "last\n"),
		"m2": writing(strings.Repeat(line, readBytes/len(line)+10)),
	}}
	s, ctx := serviceOver(t, m)
	var found targets
	for i := range mostContainers + 2 {
		found.containers = append(found.containers, container("m1", fmt.Sprintf("p%02d", i), "main"))
	}
	logs, err := s.read(ctx, "alpha", &found, Args{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.asked) != mostContainers {
		t.Errorf("%d containers were read", len(m.asked))
	}
	size := 0
	for _, l := range logs.Lines {
		size += len(l.Text)
	}
	if size > answerBytes || logs.Lines[len(logs.Lines)-1].Text != "last" {
		t.Errorf("%d bytes, the last of them %q", size, logs.Lines[len(logs.Lines)-1].Text)
	}
	if len(logs.Omitted) != mostContainers+2 || logs.Omitted[0].Pod != "p00" || !strings.Contains(logs.Omitted[0].Message, "1024 KiB") ||
		logs.Omitted[mostContainers+1].Pod != "p51" || logs.Omitted[mostContainers+1].Message != tooMany {
		t.Errorf("omitted: %+v", logs.Omitted)
	}
	logs, err = s.read(ctx, "alpha", &targets{containers: []target{container("m2", "a", "main")}}, Args{})
	if err != nil || len(logs.Omitted) != 1 {
		t.Errorf("more than is read of one container: %+v %v", logs.Omitted, err)
	}
}

func TestArguments(t *testing.T) {
	s, ctx := serviceOver(t, &members{})
	for _, tail := range []int{0, -1, mostTail + 1} {
		if _, err := s.read(ctx, "alpha", &targets{}, Args{Tail: &tail}); apierror.CodeOf(err) != apierror.CodeInvalid {
			t.Errorf("tail %d: %v", tail, err)
		}
	}
	name := "none-such"
	if _, err := s.read(ctx, "alpha", &targets{containers: []target{container("m1", "a", "main")}}, Args{Container: &name}); apierror.CodeOf(err) != apierror.CodeInvalid {
		t.Errorf("a container that no pod has: %v", err)
	}
	if logs, err := s.read(ctx, "alpha", &targets{}, Args{Container: &name}); err != nil || len(logs.Lines) > 0 {
		t.Errorf("no pods: %+v %v", logs, err)
	}
}

// A container may write anything.
func TestScanner(t *testing.T) {
	long := strings.Repeat("ä", longestLine)
	for _, tt := range []struct {
		name, text string
		want       []string
		truncated  bool
	}{
		{"nothing", "", nil, false},
		{"an empty line", second(1) + "\n", []string{""}, false},
		{"a line without its end", second(1) + "half", []string{"half"}, false},
		{"no time", "unable to read the log\n", []string{"unable to read the log"}, false},
		{"no UTF-8", second(1) + "a\xffb\n", []string{"a\uFFFDb"}, false},
		{"a long line", second(1) + long + "\n" + second(2) + "next\n", []string{long[:longestLine], "next"}, true},
		{"a line cut in a rune", second(1) + "a" + long + "\n", []string{"a" + long[:longestLine-2]}, true},
		{"a long line without a time", long + long, []string{long[:longestLine]}, true},
		{"spaces", second(1) + "  a b \n", []string{"  a b "}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, got := newScanner(strings.NewReader(tt.text), Container{}), []string(nil)
			truncated := false
			for {
				l, err := lines.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got, truncated = append(got, l.Text), truncated || l.Truncated
			}
			if !slices.Equal(got, tt.want) || truncated != tt.truncated {
				t.Errorf("got %.80q, truncated %v", got, truncated)
			}
			if lines.read != len(tt.text) {
				t.Errorf("read %d bytes of %d", lines.read, len(tt.text))
			}
		})
	}
}
