package activity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
)

func TestSees(t *testing.T) {
	entry := func(uid, namespace, kind string) *projection.ActivityEntry {
		return &projection.ActivityEntry{Activity: projection.Activity{Namespace: namespace, Kind: kind}, InstanceUID: uid}
	}
	for _, tt := range []struct {
		name string
		r    projection.ActivityReach
		e    *projection.ActivityEntry
		want bool
	}{
		{"nothing", projection.ActivityReach{}, entry("a", "shop", "Deployment"), false},
		{"everything", projection.ActivityReach{Everything: true}, entry("", "", "Cluster"), true},
		{"everything without roles", projection.ActivityReach{Everything: true}, entry("a", "", projection.KindRoleBinding), false},
		{"everything with roles of an instance", projection.ActivityReach{Everything: true, Access: []string{"a"}}, entry("a", "", projection.KindRoleBinding), true},
		{"a whole instance", projection.ActivityReach{Wholes: []string{"a"}}, entry("a", "", "Cluster"), true},
		{"another instance", projection.ActivityReach{Wholes: []string{"a"}}, entry("b", "shop", "Deployment"), false},
		{"what belongs to no instance", projection.ActivityReach{Wholes: []string{"a", ""}}, entry("", "", "Cluster"), false},
		{"every namespace", projection.ActivityReach{EveryNamespace: []string{"a"}}, entry("a", "shop", "Deployment"), true},
		{"every namespace, without one", projection.ActivityReach{EveryNamespace: []string{"a"}}, entry("a", "", "Cluster"), false},
		{"its namespace", projection.ActivityReach{Namespaces: [][2]string{{"a", "shop"}}}, entry("a", "shop", "Deployment"), true},
		{"another namespace", projection.ActivityReach{Namespaces: [][2]string{{"a", "shop"}}}, entry("a", "ops", "Deployment"), false},
		{"its namespace elsewhere", projection.ActivityReach{Namespaces: [][2]string{{"a", "shop"}}}, entry("b", "shop", "Deployment"), false},
	} {
		if got := sees(&tt.r, tt.e); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// table is a table of entries.
type table struct{ entries []projection.ActivityEntry }

func (b *table) add(id int64, at float64) {
	b.entries = append(b.entries, projection.ActivityEntry{ID: id, At: at})
}

// read implements Feed.Read: the highest numbers first.
func (b *table) read(_ context.Context, q *projection.ActivityQuery) (*projection.ActivityPage, error) {
	p := &projection.ActivityPage{}
	for id := int64(100); id > 0; id-- {
		for i := range b.entries {
			if e := b.entries[i]; e.ID == id && e.At >= q.From && (q.Before == 0 || e.ID < q.Before) {
				p.Entries = append(p.Entries, e)
			}
		}
	}
	return p, nil
}

// TestLooks: each entry is found once, also one that becomes visible after one with a higher number.
func TestLooks(t *testing.T) {
	b := &table{}
	b.add(1, 1000)
	b.add(2, 1001)
	l := &looks{read: b.read}
	next := func() string {
		found, err := l.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range found {
			ids = append(ids, fmt.Sprint(e.ID))
		}
		return strings.Join(ids, " ")
	}
	for _, tt := range []struct {
		name string
		add  func()
		want string
	}{
		{"what was there before", func() {}, ""},
		{"nothing new", func() {}, ""},
		{"two new ones", func() { b.add(3, 1002); b.add(5, 1003) }, "3 5"},
		{"a late one", func() { b.add(4, 1002) }, "4"},
		{"long after", func() { b.add(6, 2000) }, "6"},
		{"nothing new again", func() {}, ""},
	} {
		tt.add()
		if got := next(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestFeed: a subscriber gets what was added behind its subscription, and what it may see of that.
func TestFeed(t *testing.T) {
	b := &table{}
	b.add(1, 1000)
	added := make(chan struct{}, 1)
	f := &Feed{Interval: time.Millisecond, End: func(context.Context, error) {}, Read: func(ctx context.Context, q *projection.ActivityQuery) (*projection.ActivityPage, error) {
		select {
		case <-added:
			b.add(2, 1001)
			b.add(3, 1002)
		default:
		}
		return b.read(ctx, q)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, err := f.follow(ctx, func(e *projection.ActivityEntry) (bool, error) { return e.ID != 2, nil })
	if err != nil {
		t.Fatal(err)
	}
	added <- struct{}{}
	if e := <-out; e.entry.ID != 3 {
		t.Errorf("got entry %d", e.entry.ID)
	}
	cancel()
	for range out { // It ends.
	}
	if f.runs() {
		t.Error("it goes on without subscribers")
	}
}

func TestFilterMatches(t *testing.T) {
	e := &projection.ActivityEntry{At: 100, Activity: projection.Activity{
		Instance: "alpha", User: "alice", Kind: "Deployment", Namespace: "shop", Name: "web", Way: projection.ByGraphQL, Outcome: projection.ActivitySucceeded,
	}}
	at := func(seconds int64) *time.Time { return new(time.Unix(seconds, 0)) }
	for _, tt := range []struct {
		name string
		f    Filter
		want bool
	}{
		{"no filter", Filter{}, true},
		{"all of it", Filter{Instances: []string{"beta", "alpha"}, Users: []string{"alice"}, Kinds: []string{"Deployment"}, Namespaces: []string{"shop"}, Names: []string{"web"}, From: at(100), To: at(101)}, true},
		{"another instance", Filter{Instances: []string{"beta"}}, false},
		{"another user", Filter{Users: []string{"bob"}}, false},
		{"no user at all", Filter{Users: []string{}}, false},
		{"another kind", Filter{Kinds: []string{"Job"}}, false},
		{"another namespace", Filter{Namespaces: []string{"ops"}}, false},
		{"another name", Filter{Names: []string{"api"}}, false},
		{"another way", Filter{Ways: []projection.ActivityWay{projection.ByNativeAPI}}, false},
		{"another outcome", Filter{Outcomes: []projection.ActivityOutcome{projection.ActivityRefused}}, false},
		{"before it", Filter{To: at(100)}, false},
		{"after it", Filter{From: at(101)}, false},
	} {
		if got := tt.f.matches(e); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}
