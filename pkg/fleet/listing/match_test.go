package listing

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestMatcher(t *testing.T) {
	web := &metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"tier": "web", "n": "7"}}
	member := &metav1.ObjectMeta{Name: "m1"}
	for _, tt := range []struct {
		name        string
		filter      Filter
		web, member bool
	}{
		{"everything", Filter{}, true, true},
		{"a namespace", Filter{Namespaces: []string{"shop", "ops"}}, true, false},
		{"another namespace", Filter{Namespaces: []string{"ops"}}, false, false},
		{"no namespace is one of its own", Filter{Namespaces: []string{""}}, false, true},
		{"no values match nothing", Filter{Namespaces: []string{}}, false, false},
		{"names", Filter{Name: []string{"web-1"}}, true, false},
		{"no names", Filter{Name: []string{}}, false, false},
		{"part of the name", Filter{NameContains: new("eb-")}, true, false},
		{"labels", Filter{LabelSelector: new("tier=web")}, true, false},
		{"missing labels", Filter{LabelSelector: new("!tier")}, false, true},
		{"all of it", Filter{Namespaces: []string{"shop"}, Name: []string{"web-1"}, NameContains: new("web"), LabelSelector: new("tier in (web,api)")}, true, false},
		{"all of it but one", Filter{Namespaces: []string{"shop"}, Name: []string{"web-2"}, NameContains: new("web")}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			matches, err := tt.filter.Matcher()
			if err != nil {
				t.Fatal(err)
			}
			if got := matches(web); got != tt.web {
				t.Errorf("shop/web-1: got %v", got)
			}
			if got := matches(member); got != tt.member {
				t.Errorf("m1: got %v", got)
			}
		})
	}
}

func TestMatcherSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name     string
		filter   Filter
		argument string
		memory   bool
	}{
		{"no part of a name", Filter{NameContains: new("")}, "filter.nameContains", false},
		{"no selector", Filter{LabelSelector: new("a=b=c")}, "filter.labelSelector", false},
		{"numbers are compared in memory alone", Filter{LabelSelector: new("n>5")}, "filter.labelSelector", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.filter.Matcher()
			var e *apierror.Error
			if !errors.As(err, &e) || e.Code != apierror.CodeInvalid || e.Argument != tt.argument {
				t.Errorf("got %v, want INVALID of %s", err, tt.argument)
			}
			if _, err := tt.filter.MemoryMatcher(); (err == nil) != tt.memory {
				t.Errorf("in memory: %v", err)
			}
		})
	}
}
