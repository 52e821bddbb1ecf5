package live

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// logEvent is an event of podLogs.
type logEvent struct {
	Type          string     `json:"type"`
	ClusterName   string     `json:"clusterName"`
	PodName       string     `json:"podName"`
	ContainerName string     `json:"containerName"`
	Time          *time.Time `json:"time"`
	Line          *string    `json:"line"`
	Message       *string    `json:"message"`
}

const frontend = `instance: "alpha", namespace: "shop", kind: DEPLOYMENT, name: "frontend"`

// podLogs follows logs.
func podLogs(t *testing.T, as *gql.Client, arguments string) *gql.Stream {
	t.Helper()
	s := as.MustSubscribe(t, gql.Request{Query: `subscription { podLogs(` + arguments + `) { type clusterName podName containerName time line truncated message } }`})
	t.Cleanup(s.Close)
	return s
}

// someLogs reads so many events of a stream of logs.
func someLogs(t *testing.T, s *gql.Stream, n int) []logEvent {
	t.Helper()
	var all []logEvent
	for range n {
		e := s.Next(within)
		if e == nil || len(e.Errors) > 0 || e.Lost != nil || e.Complete {
			t.Fatalf("after %+v came %+v", all, e)
		}
		var data struct {
			PodLogs logEvent `json:"podLogs"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		all = append(all, data.PodLogs)
	}
	return all
}

// saying are the clusters of the lines that begin with a text.
func saying(events []logEvent, text string) string {
	var all []string
	for _, e := range events {
		if e.Type == "LINE" && strings.HasPrefix(*e.Line, text) {
			all = append(all, e.ClusterName)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// oneAndThree are the clusters of the pods of the frontend.
var oneAndThree = strings.Join([]string{"m1", "m2", "m2", "m2"}, " ")

// TestPodLogs follows what the simulated containers write, all of them into one file of the fleet.
func TestPodLogs(t *testing.T) {
	admin := person(t, "admin")
	s := podLogs(t, admin, frontend)
	first := someLogs(t, s, 8)
	if saying(first, "This container is simulated") != oneAndThree || saying(first, "All simulated") != oneAndThree {
		t.Errorf("told of %+v", first)
	}
	one := first[slices.IndexFunc(first, func(e logEvent) bool { return e.ClusterName == "m1" })]
	pod := fmt.Sprintf(`instance: "alpha", namespace: "shop", clusters: ["m1"], pod: %q, container: %q`, one.PodName, one.ContainerName)
	ofPod := podLogs(t, admin, pod+`, since: "2026-01-01T00:00:00.5Z"`)
	if got := someLogs(t, ofPod, 1); saying(got, "All simulated") != "m1" {
		t.Errorf("told of %+v", got)
	}
	word := unique("written")
	appendLog(t, word)
	if got := someLogs(t, s, 4); saying(got, word) != oneAndThree {
		t.Errorf("told of %+v", got)
	}
	if got := someLogs(t, ofPod, 1); saying(got, word) != "m1" {
		t.Errorf("told of %+v", got)
	}
	// The log of the run before ends, where there is one.
	before := podLogs(t, admin, pod+`, previous: true, tail: 1`)
	if got := someLogs(t, before, 1); got[0].Type != "ENDED" || *got[0].Message != "the container had no run before this one" {
		t.Errorf("told of %+v", got)
	}
	if e := before.Next(within); e == nil || !e.Complete {
		t.Errorf("it goes on: %+v", e)
	}
}

// appendLog has the simulated containers write a line, until the test ends.
func appendLog(t *testing.T, line string) {
	t.Helper()
	path := filepath.Join(filepath.Dir(fleet.Open(t).Logs), "config", "kwok-container.log")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(file, "%s stdout F %s\n", time.Now().UTC().Format(time.RFC3339Nano), line)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Truncate(path, int64(len(before))); err != nil {
			t.Error(err)
		}
	})
}

// TestPodLogsRefused subscribes to what may not be followed, or is not there. The answers do not differ.
func TestPodLogsRefused(t *testing.T) {
	refusalOf := func(as *gql.Client, arguments string) (code, message string) {
		s, refused, err := as.Subscribe(t.Context(), gql.Request{Query: `subscription { podLogs(` + arguments + `) { type message } }`})
		if err != nil {
			t.Fatal(err)
		}
		if refused != nil {
			return refused.Errors[0].Extensions.Code, refused.Errors[0].Message
		}
		defer s.Close()
		for {
			e := s.Next(within)
			if e == nil || e.Complete || e.Lost != nil {
				t.Fatalf("it follows %s: %+v", arguments, e)
			}
			if len(e.Errors) > 0 {
				return e.Errors[0].Extensions.Code, e.Errors[0].Message
			}
		}
	}
	refusal := func(who, arguments string) (code, message string) { return refusalOf(person(t, who), arguments) }
	confined := confinedTo(t, "ops")
	code, hidden := refusalOf(confined, frontend)
	_, missing := refusalOf(confined, strings.ReplaceAll(frontend, `"frontend"`, `"none-such"`))
	if code != "NOT_FOUND" || strings.ReplaceAll(hidden, "frontend", "none-such") != missing {
		t.Errorf("another namespace: %s %q, and of none %q", code, hidden, missing)
	}
	for _, who := range []string{"bob", "mallory"} {
		code, hidden := refusal(who, frontend)
		_, missing := refusal(who, strings.ReplaceAll(frontend, "alpha", "none-such"))
		if code != "NOT_FOUND" || strings.ReplaceAll(hidden, "alpha", "none-such") != missing {
			t.Errorf("%s: %s %q, and of none %q", who, code, hidden, missing)
		}
	}
	if code, message := refusal("alice", frontend); code != "FORBIDDEN" || !strings.Contains(message, "clusters/proxy") {
		t.Errorf("an editor may not reach the members: %s %s", code, message)
	}
	for arguments, want := range map[string]string{
		`instance: "alpha", namespace: "shop"`:                                                  "INVALID",
		frontend + `, pod: "a"`:                                                                 "INVALID",
		frontend + `, tail: 0`:                                                                  "INVALID",
		frontend + `, container: "none-such"`:                                                   "INVALID",
		`instance: "alpha", namespace: "shop", pod: "none-such"`:                                "NOT_FOUND",
		`instance: "alpha", namespace: "shop", kind: DEPLOYMENT, name: "none-such"`:             "NOT_FOUND",
		`instance: "none-such", namespace: "shop", kind: DEPLOYMENT, name: "frontend"`:          "NOT_FOUND",
		`instance: "alpha", namespace: "kube-system", kind: DEPLOYMENT, name: "kube-apiserver"`: "NOT_FOUND",
	} {
		if code, message := refusal("admin", arguments); code != want {
			t.Errorf("%s: %s %s", arguments, code, message)
		}
	}
}
