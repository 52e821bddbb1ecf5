package v1alpha1_test

import (
	"strings"
	"testing"
)

func TestInstanceRegistrationValidation(t *testing.T) {
	kube := newClient(t)
	for _, c := range []validationCase{
		{name: "alpha", reason: "an instance of which little is known yet is accepted", spec: "alias: alpha"},
		{name: "alpha", reason: "everything a registration says is accepted", spec: `
alias: Alpha (production)
endpoint: https://10.0.0.1:6443
roles:
- name: viewer
  description: Reads.
  permissions: [see everything]
  global: [{apiGroups: [kairship.io], resources: [instances], resourceNames: [alpha], verbs: [get]}]
  instance: [{apiGroups: [policy.karmada.io], resources: [propagationpolicies], verbs: [get]}]`},
		{name: strings.Repeat("a", 50), reason: "the longest name of an Instance is accepted", spec: "alias: alpha"},
		{
			name: strings.Repeat("a", 51), reason: "no Instance has such a name", spec: "alias: alpha",
			want: []string{"metadata: Invalid value", "has the name of its Instance"},
		},
		{name: "alpha", reason: "an unknown role is refused", spec: "roles: [{name: owner}]", want: []string{"spec.roles[0].name", "supported values"}},
		{name: "alpha", reason: "a role is named once", spec: "roles: [{name: viewer}, {name: viewer}]", want: []string{"spec.roles[1]", "Duplicate value"}},
		{name: "alpha", reason: "a rule has verbs", spec: "roles: [{name: viewer, global: [{resources: [instances]}]}]", want: []string{"spec.roles[0].global[0].verbs", "Required value"}},
	} {
		c.run(t, kube, "InstanceRegistration")
	}
}
