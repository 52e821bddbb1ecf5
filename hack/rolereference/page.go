package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
	"github.com/kairship-io/kairship/graph/permission"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers/clusterimport"
)

// write writes the page.
func write(w io.Writer, c *chart) error {
	fmt.Fprintf(w, `# Role reference

`+"`make generate`"+` writes this page from the code and the chart, and `+"`make verify`"+` fails when it is out of date: do not edit it.
How roles are given is in [instancerolebinding.md](instancerolebinding.md), what they mean in [permissions.md](permissions.md),
who is trusted with what in [security.md](security.md).

The columns of a role with "namespaces" are for a role that is given in single namespaces, and about these. "not reserved" is
everywhere but in the reserved namespaces: %s.
In tables of rules, "read" is %s,
and "write" is %s.

`, code(roles.ReservedPatterns()), code(everyVerb[:3]), code(everyVerb[3:]))
	fields(w)
	if err := fieldTables(w); err != nil {
		return err
	}
	globalRights(w)
	if err := inInstances(w); err != nil {
		return err
	}
	inMembers(w)
	if err := admissions(w, c); err != nil {
		return err
	}
	programs(w, c)
	return nil
}

// roleColumns are the heads of the columns of all roles.
func roleColumns() []string {
	var columns []string
	for _, role := range permission.Roles() {
		column := string(role.Role)
		if role.Namespaced {
			column += ", namespaces"
		}
		columns = append(columns, column)
	}
	return columns
}

// globalRights writes what is asked of the global cluster, and which role has it.
func globalRights(w io.Writer) {
	fmt.Fprint(w, `## Rights in the global cluster

Kairship asks the global cluster's RBAC about these resources of group `+"`kairship.io`"+`. Nothing is stored under those with a
subresource. A rule with `+"`resourceNames`"+` is about what they name, one without about all, those included that are yet to come.

`)
	columns := slices.Concat([]string{"resource", "verbs", "names", "permits"}, roleColumns())
	var rows [][]string
	for _, right := range roles.Rights() {
		row := []string{"`" + right.Resource + "`", strings.Join(right.Verbs, ", "), right.Names, right.Permits}
		for _, role := range permission.Roles() {
			row = append(row, has(role, right))
		}
		rows = append(rows, row)
	}
	table(w, columns, rows)
	fmt.Fprintln(w)
}

// has names the verbs of a right that a role has.
func has(role permission.Role, right roles.Right) string {
	var namespaces []string
	if role.Namespaced {
		namespaces = []string{"shop"}
	}
	var held []string
	for _, rule := range roles.Global(role.Role, "alpha", namespaces) {
		for _, verb := range right.Verbs {
			if slices.Contains(rule.Resources, right.Resource) && slices.Contains(rule.Verbs, verb) {
				held = append(held, verb)
			}
		}
	}
	switch {
	case len(held) == len(right.Verbs):
		return "yes"
	case len(held) == 0:
		return ""
	}
	return strings.Join(held, ", ")
}

// inInstances writes the ClusterRoles of an instance, and what follows in its members.
func inInstances(w io.Writer) error {
	fmt.Fprint(w, "## Rules in an instance\n\nA role is bound in the instance to these ClusterRoles:\n\n")
	var rows [][]string
	for _, role := range permission.Roles() {
		on, bound := "instance", "`"+roles.ClusterRoleName(role.Role, role.Namespaced)+"`, everywhere"
		switch {
		case role.Namespaced:
			on, bound = "namespaces", "`"+roles.ClusterRoleName(role.Role, true)+"` in each of them"
		case roles.InEveryNamespace(role.Role, false):
			bound += ", and `" + roles.ClusterRoleName(role.Role, true) + "` in each namespace that is not reserved"
		}
		rows = append(rows, []string{string(role.Role), on, bound})
	}
	table(w, []string{"role", "on", "ClusterRole"}, rows)

	fmt.Fprint(w, "\nThe instance puts each together from the ClusterRoles with one of its labels:\n\n")
	rows = nil
	clusterRoles := roles.ClusterRoles()
	for i := range clusterRoles {
		if role := &clusterRoles[i]; role.AggregationRule != nil {
			var labels []string
			for s := range role.AggregationRule.ClusterRoleSelectors {
				labels = append(labels, metav1.FormatLabelSelector(&role.AggregationRule.ClusterRoleSelectors[s]))
			}
			rows = append(rows, []string{"`" + role.Name + "`", strings.ReplaceAll(code(labels), "`, `", "`<br>`")})
		}
	}
	table(w, []string{"ClusterRole", "labels"}, rows)

	parts, err := roles.Parts()
	if err != nil {
		return err
	}
	for i := range parts {
		part := &parts[i]
		fmt.Fprintf(w, "\n### %s\n\nIn %s, by the label `%s`.", part.Name, code(part.In), part.Label)
		if part.Limit != "" {
			fmt.Fprintf(w, " It is there only while the admission policy [%s](#%s) is in force.", part.Limit, anchor(part.Limit))
		}
		fmt.Fprint(w, "\n\n")
		rows = nil
		for r := range part.Rules {
			rule := &part.Rules[r]
			on := "of " + groups(rule.APIGroups) + ": " + resources(&rule.PolicyRule)
			// Rules that differ in their group alone have one line.
			if last := len(rows) - 1; last >= 0 && rows[last][0] == verbs(rule.Verbs) && rows[last][2] == rule.Members {
				rows[last][1] += "<br>" + on
				continue
			}
			rows = append(rows, []string{verbs(rule.Verbs), on, rule.Members})
		}
		table(w, []string{"verbs", "resources", "what follows in the members"}, rows)
	}
	fmt.Fprintln(w)
	return nil
}

// inMembers writes what Karmada may do in a member.
func inMembers(w io.Writer) {
	fmt.Fprint(w, `## Rules in a member

A cluster that joins an instance with credentials of its own gives Karmada a ServiceAccount, whose token is in the reserved
namespace `+"`karmada-cluster`"+` of the instance. People with a role have no access rules of Kairship in a member.

`)
	rules := clusterimport.MemberRules()
	rows := make([][]string, 0, len(rules))
	for i := range rules {
		rows = append(rows, []string{verbs(rules[i].Verbs), groups(rules[i].APIGroups), resources(&rules[i])})
	}
	table(w, []string{"verbs", "groups", "resources"}, rows)
	fmt.Fprintln(w)
}

// anchor is how Markdown names the heading.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), ".", "") }

// admissions writes the admission policies of instances and of the global cluster.
func admissions(w io.Writer, c *chart) error {
	fmt.Fprint(w, "## Admission policies\n\nThe API server evaluates a ValidatingAdmissionPolicy for every request, whichever program sends it.\n")
	for _, a := range roles.Admissions() {
		if err := enforced(a.Policy, a.Binding); err != nil {
			return err
		}
		holders, err := holders(a)
		if err != nil {
			return err
		}
		exempt := fmt.Sprintf("users with `%s` on `%s` of group `%s` in the whole instance: of the roles %s; "+
			"of others `cluster-admin` and the group `system:masters`, to which Karmada's components belong", a.Verb, a.Resource, a.Group, code(holders))
		if err := admission(w, a.Policy, "Each instance has it, by the controller `instance-access`.", exempt); err != nil {
			return err
		}
	}
	for _, policy := range c.policies {
		if err := admission(w, policy, "The chart installs it in the global cluster.", ""); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	return nil
}

// holders are the ClusterRoles of an instance that exempt from an admission policy.
func holders(a roles.Admission) ([]string, error) {
	parts, err := roles.Parts()
	if err != nil {
		return nil, err
	}
	var in []string
	for i := range parts {
		for r := range parts[i].Rules {
			rule := &parts[i].Rules[r]
			if slices.Contains(rule.Verbs, a.Verb) && slices.Contains(rule.APIGroups, a.Group) && slices.Contains(rule.Resources, a.Resource) {
				in = append(in, parts[i].In...)
			}
		}
	}
	slices.Sort(in)
	return slices.Compact(in), nil
}

// admission writes one admission policy.
func admission(w io.Writer, policy *admissionv1.ValidatingAdmissionPolicy, where, exempt string) error {
	byRight := slices.ContainsFunc(policy.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool { return strings.Contains(c.Expression, "authorizer") })
	if byRight != (exempt != "") {
		return fmt.Errorf("admission policy %s: a match condition about rights and the right that exempts belong together", policy.Name)
	}
	fmt.Fprintf(w, "\n### %s\n\n%s When it cannot be evaluated, the request is decided by `failurePolicy: %s`.\n\n", policy.Name, where, *policy.Spec.FailurePolicy)
	for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
		var operations []string
		for _, operation := range rule.Operations {
			operations = append(operations, string(operation))
		}
		fmt.Fprintf(w, "- Matches: %s of %s of group %s.\n", strings.Join(operations, ", "), code(rule.Resources), groups(rule.APIGroups))
	}
	if exempt == "" {
		exempt = "no user"
	}
	fmt.Fprintf(w, "- Exempt: %s.\n- Refuses what does not fulfil a rule below, with its message.\n\n```text\n", exempt)
	block := func(title, expression string) { fmt.Fprintf(w, "%s\n  %s\n", title, expression) }
	for _, condition := range policy.Spec.MatchConditions {
		block("only when: "+condition.Name, condition.Expression)
	}
	for _, variable := range policy.Spec.Variables {
		block("variable: "+variable.Name, variable.Expression)
	}
	for _, validation := range policy.Spec.Validations {
		block("rule: "+validation.Message, validation.Expression)
	}
	fmt.Fprint(w, "```\n")
	return nil
}

// programs writes the roles of the programs in the global cluster.
func programs(w io.Writer, c *chart) {
	fmt.Fprint(w, "## Roles of the programs\n\nThe chart gives these in the global cluster, with the values that it has on its own.\n")
	for i := range c.roles {
		program(w, &c.roles[i])
	}
	fmt.Fprintf(w, "\nWith `%s` there are besides:\n", allNamespaces)
	for i := range c.more {
		role := c.more[i]
		role.Name += " (all namespaces)"
		program(w, &role)
	}
}

func program(w io.Writer, role *privilege.Role) {
	title := role.Kind + " " + role.Name
	if role.Namespace != "" {
		title += " in " + role.Namespace
	}
	account := "Bound to no program: values name the accounts."
	if role.Account != "" {
		account = "Bound to the ServiceAccount `" + v1alpha1.SystemNamespace + "/" + role.Account + "`."
	}
	fmt.Fprintf(w, "\n### %s\n\n%s\n\n", title, account)
	var rows [][]string
	for i := range role.Rules {
		rule := &role.Rules[i]
		rows = append(rows, []string{verbs(rule.Verbs), groups(rule.APIGroups), resources(rule)})
	}
	table(w, []string{"verbs", "groups", "resources"}, rows)
}
