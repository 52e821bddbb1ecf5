package privilege

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestJudge(t *testing.T) {
	const account = "kairship-apiserver"
	roles := []Role{
		{Kind: "ClusterRole", Name: account, Account: account, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"kairship.io"}, Resources: []string{"instances"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}},
		}},
		{Kind: "Role", Namespace: "kairship-system", Name: account, Account: account, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"keys"}, Verbs: []string{"update"}},
		}},
		{Kind: "ClusterRole", Name: "another", Account: "another", Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		}},
	}
	forbidden := func(change func(*Request)) Request {
		r := Request{Verb: "get"}
		r.ResponseStatus.Code = 403
		change(&r)
		return r
	}
	object := func(verb, group, resource, namespace, name string) Request {
		return forbidden(func(r *Request) {
			r.Verb = verb
			r.ObjectRef.APIGroup, r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name = group, resource, namespace, name
		})
	}
	at := func(verb, uri string) Request {
		return forbidden(func(r *Request) { r.Verb, r.RequestURI = verb, uri })
	}

	tests := map[string]struct {
		reason  string
		request Request
		want    finding
	}{
		"Allowed": {
			reason:  "What was not forbidden is nothing to judge.",
			request: Request{Verb: "get", RequestURI: "/readyz"},
			want:    fine,
		},
		"HasTheRight": {
			reason:  "Only an API server that does not know the roles yet forbids what they allow.",
			request: object("get", "kairship.io", "instances", "", "alpha"),
			want:    early,
		},
		"AnotherVerb": {
			reason:  "To read is not to write.",
			request: object("update", "kairship.io", "instances", "", "alpha"),
			want:    refused,
		},
		"ForeignRight": {
			reason:  "The role of another account helps no other account.",
			request: object("list", "", "pods", "default", ""),
			want:    refused,
		},
		"ByName": {
			reason:  "A right to one object is one to that object.",
			request: object("update", "", "secrets", "kairship-system", "keys"),
			want:    early,
		},
		"AnotherName": {
			reason:  "A right to one object is none to another.",
			request: object("update", "", "secrets", "kairship-system", "others"),
			want:    refused,
		},
		"AnotherNamespace": {
			reason:  "A Role ends where its namespace does.",
			request: object("update", "", "secrets", "default", "keys"),
			want:    refused,
		},
		"PathForEverybody": {
			reason:  "No role of the chart gives what Kubernetes gives everybody.",
			request: at("get", "/readyz?verbose"),
			want:    early,
		},
		"PathBelowOne": {
			reason:  "Kubernetes gives everybody these paths, and not those below them.",
			request: at("get", "/readyz/etcd"),
			want:    refused,
		},
		"AnotherPath": {
			reason:  "Other paths need a right, and the roles have none to any.",
			request: at("get", "/metrics"),
			want:    refused,
		},
		"PathWritten": {
			reason:  "Everybody may read, and no more.",
			request: at("post", "/readyz"),
			want:    refused,
		},
		"NamespaceEnding": {
			reason: "Nothing can be made in a namespace that is going, regardless of the user.",
			request: forbidden(func(r *Request) {
				r.ResponseStatus.Message = `unable to create new content in namespace x because it is being terminated`
			}),
			want: ending,
		},
		"BehindRBAC": {
			reason: "RBAC let it through, so that it knows the roles: something else refused.",
			request: forbidden(func(r *Request) {
				r.ObjectRef.APIGroup, r.ObjectRef.Resource = "kairship.io", "instances"
				r.Annotations = map[string]string{decisionAnnotation: "allow"}
			}),
			want: refused,
		},
		"MayImpersonate": {
			reason: "The roles let the account be a user.",
			request: forbidden(func(r *Request) {
				r.ResponseStatus.Message = `User "a" cannot impersonate resource "users" in API group "" at the cluster scope`
			}),
			want: early,
		},
		"MayNotImpersonate": {
			reason: "The roles do not let it be in a group.",
			request: forbidden(func(r *Request) {
				r.ResponseStatus.Message = `User "a" cannot impersonate resource "groups" in API group "" at the cluster scope`
			}),
			want: refused,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.request.judge(account, roles); got != tc.want {
				t.Errorf("%s\ngot %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
