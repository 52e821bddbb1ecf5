package privilege

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Role is a Role or a ClusterRole, which has no namespace.
type Role struct {
	Kind, Namespace, Name string
	Rules                 []rbacv1.PolicyRule
	// account is the service account that is bound to it, without its namespace.
	Account string
}

// ReadRoles reads the roles of what the chart renders.
func ReadRoles(manifest []byte) ([]Role, error) {
	var roles []Role
	accounts := map[string]string{}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var o struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
			Rules    []rbacv1.PolicyRule `json:"rules"`
			RoleRef  rbacv1.RoleRef      `json:"roleRef"`
			Subjects []rbacv1.Subject    `json:"subjects"`
		}
		// A document of another kind may have other things by these names.
		if err := yaml.Unmarshal(document, &o); err != nil {
			continue
		}
		switch o.Kind {
		case "Role", "ClusterRole":
			roles = append(roles, Role{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Rules: o.Rules})
		case "RoleBinding", "ClusterRoleBinding":
			for _, s := range o.Subjects {
				accounts[o.RoleRef.Kind+" "+o.Metadata.Namespace+"/"+o.RoleRef.Name] = s.Name
			}
		}
	}
	for i := range roles {
		roles[i].Account = accounts[roles[i].Kind+" "+roles[i].Namespace+"/"+roles[i].Name]
	}
	if len(roles) == 0 || len(accounts) == 0 {
		return nil, fmt.Errorf("found %d roles and %d bindings", len(roles), len(accounts))
	}
	return roles, nil
}

// right is one thing that a role lets its account do.
type right struct {
	role                  *Role
	verb, group, resource string
	// names are those of the objects; any where there are none.
	names []string
}

// String is how the right is called in lists and reasons.
func (r right) String() string {
	name := r.resource
	if r.group != "" {
		base, sub, is := strings.Cut(r.resource, "/")
		if name = base + "." + r.group; is {
			name += "/" + sub
		}
	}
	if len(r.names) > 0 {
		name += " " + strings.Join(r.names, ",")
	}
	if r.role.Namespace != "" {
		name += " in " + r.role.Namespace
	}
	return r.role.Name + ": " + r.verb + " " + name
}

// rights takes a role apart. Every name that a rule lists is a right of its own.
func (r *Role) rights() []right {
	var all []right
	for _, rule := range r.Rules {
		names := [][]string{nil}
		if len(rule.ResourceNames) > 0 {
			names = nil
			for _, name := range rule.ResourceNames {
				names = append(names, []string{name})
			}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, n := range names {
						all = append(all, right{role: r, verb: verb, group: group, resource: resource, names: n})
					}
				}
			}
		}
	}
	return all
}

// covers reports whether the right is to this.
func (r right) covers(verb, group, resource, namespace, name string) bool {
	return r.verb == verb && r.group == group && r.resource == resource &&
		(r.role.Namespace == "" || r.role.Namespace == namespace) &&
		(len(r.names) == 0 || slices.Contains(r.names, name))
}
