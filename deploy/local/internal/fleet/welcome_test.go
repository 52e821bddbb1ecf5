package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBrief(t *testing.T) {
	got, err := brief([]byte(`{"data":{"nodes":[{"name":"a","list":[{"x":1,"y":2},{"x":3,"y":4}]},{"name":"b","list":[]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `  {
    "data": {
      "nodes": [
        {
          "name": "a",
          "list": [
            { "x": 1, "y": 2 },
            { "x": 3, "y": 4 }
          ]
        },
        { "name": "b", "list": [] }
      ]
    }
  }
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := brief([]byte("<html>")); err == nil {
		t.Error("a proxy's error page passes for an answer")
	}
}

func TestPeople(t *testing.T) {
	want := "admin (everything), alice (editor on alpha), bob (viewer on beta), mallory (nothing)"
	if got := people(false); got != want {
		t.Errorf("got %s", got)
	}
	if got := people(true); got != "admin, alice, bob, mallory" {
		t.Errorf("without Kairship no user has a role, and yet: %s", got)
	}
}
