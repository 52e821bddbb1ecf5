package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestInstanceRoleBindingValidation(t *testing.T) {
	kube := newClient(t)
	const shortest = "instanceRef: {name: alpha}\nsubject: {kind: User, name: alice}\nrole: viewer"
	subject := func(kind, name string) string {
		return "instanceRef: {name: alpha}\nsubject: {kind: " + kind + ", name: " + name + "}\nrole: viewer"
	}
	source := func(more string) string {
		return shortest + "\nsource: {bindingID: 'tenant/7:alice@alpha', eventID: e-1" + more + "}"
	}
	digest := strings.Repeat("0a", 32)
	managed := v1alpha1.BindingName("tenant/7:alice@alpha")
	namespaces := func(count int) string {
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("n%d", i))
		}
		return shortest + "\nnamespaces: [" + strings.Join(names, ", ") + "]"
	}
	for _, c := range []validationCase{
		{name: "alice-alpha", reason: "the shortest binding is accepted", spec: shortest},
		{name: "alice-alpha", reason: "everything a person may say is accepted", spec: `
instanceRef: {name: alpha}
subject: {kind: Group, name: "oidc:Team Shop"}
role: admin
namespaces: [shop, ops]
revoked: true`},
		{
			name: managed, reason: "everything global management may say is accepted",
			spec: source(", sequence: 9007199254740993, deliveryDigest: " + digest + ", issuedAt: '2026-01-02T03:04:05.678000Z'"),
		},
		{name: "alice-alpha", reason: "a service account is a User", spec: subject("User", "'system:serviceaccount:ci:deployer'")},
		{name: "alice-alpha", reason: "a name of one letter is accepted", spec: subject("User", "a")},
		{name: "alice-alpha", reason: "a name in any script is accepted", spec: subject("User", "'Zoë Ångström'")},
		{name: "alice-alpha", reason: "everybody who has signed in may be given a role", spec: subject("Group", "'system:authenticated'")},
		{name: strings.Repeat("a", 63), reason: "a name of 63 characters fits into a label", spec: shortest},
		{
			name: strings.Repeat("a", 64), reason: "a name of 64 characters does not", spec: shortest,
			want: []string{"metadata: Invalid value", "at most 63 characters"},
		},
		{
			name: "alice-alpha", reason: "the instance is required", spec: "subject: {kind: User, name: alice}\nrole: viewer",
			want: []string{"spec.instanceRef", "Required value"},
		},
		{
			name: "alice-alpha", reason: "an instance's name is a DNS label", spec: "instanceRef: {name: A_B}\nsubject: {kind: User, name: alice}\nrole: viewer",
			want: []string{"spec.instanceRef.name", "must be the name of an Instance"},
		},
		{
			name: "alice-alpha", reason: "the subject is required", spec: "instanceRef: {name: alpha}\nrole: viewer",
			want: []string{"spec.subject", "Required value"},
		},
		{name: "alice-alpha", reason: "the subject's name is required", spec: subject("User", "''"), want: []string{"spec.subject.name", "must be the name of a user or group"}},
		{name: "alice-alpha", reason: "a space before a name is a mistake", spec: subject("User", "' alice'"), want: []string{"spec.subject.name", "without spaces at its ends"}},
		{name: "alice-alpha", reason: "a space behind a name is a mistake", spec: subject("User", "'alice '"), want: []string{"spec.subject.name", "without spaces at its ends"}},
		{name: "alice-alpha", reason: "a newline could forge a log line", spec: subject("User", `"ali\nce"`), want: []string{"spec.subject.name", "without control characters"}},
		{name: "alice-alpha", reason: "a name has a limit", spec: subject("User", strings.Repeat("a", 513)), want: []string{"spec.subject.name", "512"}},
		{
			name: "alice-alpha", reason: "a service account's own kind is unknown", spec: subject("ServiceAccount", "ci"),
			want: []string{"spec.subject.kind", `supported values: "User", "Group"`},
		},
		{
			name: "alice-alpha", reason: "no unauthenticated user is given a role", spec: subject("User", "'system:anonymous'"),
			want: []string{"spec.subject.name", "cannot be given a role"},
		},
		{
			name: "alice-alpha", reason: "nor as a group", spec: subject("Group", "'system:unauthenticated'"),
			want: []string{"spec.subject.name", "cannot be given a role"},
		},
		{
			name: "alice-alpha", reason: "the role is required", spec: "instanceRef: {name: alpha}\nsubject: {kind: User, name: alice}",
			want: []string{"spec.role", "Required value"},
		},
		{
			name: "alice-alpha", reason: "an unknown role is refused", spec: "instanceRef: {name: alpha}\nsubject: {kind: User, name: alice}\nrole: owner",
			want: []string{"spec.role", `supported values: "viewer", "editor", "admin"`},
		},
		{name: "alice-alpha", reason: "no namespaces are the whole instance", spec: shortest + "\nnamespaces: []"},
		{name: "alice-alpha", reason: "a namespace is a DNS label", spec: shortest + "\nnamespaces: ['shop:ops']", want: []string{"spec.namespaces[0]", "must be the name of a namespace"}},
		{name: "alice-alpha", reason: "an asterisk is no namespace", spec: shortest + "\nnamespaces: ['*']", want: []string{"spec.namespaces[0]", "must be the name of a namespace"}},
		{name: "alice-alpha", reason: "an empty name is no namespace", spec: shortest + "\nnamespaces: ['']", want: []string{"spec.namespaces[0]", "must be the name of a namespace"}},
		{name: "alice-alpha", reason: "a namespace is named once", spec: shortest + "\nnamespaces: [shop, shop]", want: []string{"spec.namespaces[1]", "Duplicate value"}},
		{name: "alice-alpha", reason: "256 namespaces are accepted", spec: namespaces(256)},
		{name: "alice-alpha", reason: "257 namespaces are too many", spec: namespaces(257), want: []string{"spec.namespaces", "256"}},
		{
			name: "alice-alpha", reason: "what global management made is recognised by its name", spec: source(", sequence: 1"),
			want: []string{"metadata: Invalid value", "names that begin with gm- are for the bindings of global management"},
		},
		{
			name: managed, reason: "the prefix gm- is reserved", spec: shortest,
			want: []string{"metadata: Invalid value", "names that begin with gm- are for the bindings of global management"},
		},
		{
			name: "gm-alice", reason: "behind the prefix there is a digest", spec: source(", sequence: 1"),
			want: []string{"metadata: Invalid value", "gm- followed by the first 40 hexadecimal digits"},
		},
		{name: managed, reason: "an event has a sequence number", spec: source(""), want: []string{"spec.source.sequence", "Required value"}},
		{name: managed, reason: "sequence numbers begin at 0", spec: source(", sequence: -1"), want: []string{"spec.source.sequence", "greater than or equal to 0"}},
		{
			name: managed, reason: "a digest is a SHA-256", spec: source(", sequence: 1, deliveryDigest: abc"),
			want: []string{"spec.source.deliveryDigest", "64 hexadecimal digits"},
		},
		{
			name: managed, reason: "a binding's ID has a limit", spec: shortest + "\nsource: {bindingID: " + strings.Repeat("b", 257) + ", eventID: e, sequence: 1}",
			want: []string{"spec.source.bindingID", "256"},
		},
	} {
		c.run(t, kube, "InstanceRoleBinding")
	}
}

func TestBindingName(t *testing.T) {
	for _, c := range []struct {
		reason, id, want string
	}{
		{"the first digits of sha256sum", "b-1", "gm-3e499e752620c6a90ed59a200a18132411045ba5"},
		{"any characters will do", "tenant/7:Zoë", "gm-e87fb5e4e0054cfdd4d01b5005a3b0577b4d4303"},
	} {
		if got := v1alpha1.BindingName(c.id); got != c.want {
			t.Errorf("%s: BindingName(%q) = %s, want %s", c.reason, c.id, got, c.want)
		}
	}
}
