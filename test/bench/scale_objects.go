package main

import (
	"embed"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// The shape of the fleet that is written into the index.
const (
	scaleInstances  = 20
	scaleNamespaces = 50
	scaleTeams      = 20
	// scaleDegraded is how many workloads have no replica available in one of their members.
	scaleDegraded = 160
	// objectsEach is how many objects of the index one workload has.
	objectsEach = 10
)

// scaleFleet is a fleet of so many workloads. Workload i is the same in every run.
type scaleFleet struct{ workloads int }

func scaleInstance(n int) string  { return fmt.Sprintf("scale-%02d", n) }
func scaleNamespace(n int) string { return fmt.Sprintf("scale-ns-%02d", n) }
func scaleTeam(n int) string      { return fmt.Sprintf("team-%02d", n) }
func scaleName(i int) string      { return fmt.Sprintf("app-%06d", i) }

// scaleMembers are the two member clusters of an instance.
func scaleMembers(instance string) [2]string { return [2]string{instance + "-a", instance + "-b"} }

func instanceOf(i int) int  { return i % scaleInstances }
func namespaceOf(i int) int { return i / scaleInstances % scaleNamespaces }
func teamOf(i int) int      { return i / 7 % scaleTeams }

// degraded reports whether a workload is one of those, which are spread evenly.
func (f scaleFleet) degraded(i int) bool {
	step := max(1, f.workloads/scaleDegraded)
	return i%step == step/2 && i/step < scaleDegraded
}

// count returns how many workloads satisfy a condition.
func (f scaleFleet) count(is func(i int) bool) (n int) {
	for i := range f.workloads {
		if is(i) {
			n++
		}
	}
	return n
}

// shapes are objects of a real fleet, with the names of values between @@.
//
//go:embed testdata/scale/*.json
var shapes embed.FS

// shape is an object in pieces: every second one is the name of a value.
type shape []string

func readShape(name string) shape {
	text, err := shapes.ReadFile("testdata/scale/" + name + ".json")
	if err != nil {
		panic(err) // It is part of the program.
	}
	return strings.Split(strings.TrimSpace(string(text)), "@@")
}

func (s shape) fill(values map[string]string) string {
	var b strings.Builder
	for i, piece := range s {
		if i%2 == 1 {
			piece = values[piece]
		}
		b.WriteString(piece)
	}
	return b.String()
}

var (
	clusterShape, policyShape, templateShape, bindingShape = readShape("cluster"), readShape("policy"), readShape("template"), readShape("binding")
	workShape, deploymentShape, replicaSetShape, podShape  = readShape("work"), readShape("deployment"), readShape("replicaset"), readShape("pod")

	whereHealthy = map[string]string{
		"available": "1", "health": "Healthy", "isAvailable": "True",
		"reason": "MinimumReplicasAvailable", "condition": "Deployment has minimum availability.",
	}
	whereDegraded = map[string]string{
		"available": "0", "health": "Unhealthy", "isAvailable": "False",
		"reason": "MinimumReplicasUnavailable", "condition": "Deployment does not have minimum availability.",
	}
)

// indexedColumns are those of Clusterpedia's table that rows are written of.
var indexedColumns = []string{
	"group", "version", "resource", "kind", "cluster", "namespace", "name", "owner_uid", "uid", "resource_version", "object", "created_at", "synced_at",
}

// made is one object of the index.
type made struct {
	shape                                        shape
	group, version, resource, kind               string
	cluster, namespace, name, owner, uid, number string
}

// row is the object in the order of indexedColumns.
func (m made) row(values map[string]string, created time.Time) []any {
	values["in"], values["version"], values["created"] = m.cluster, m.number, created.Format(time.RFC3339)
	return []any{m.group, m.version, m.resource, m.kind, m.cluster, m.namespace, m.name, m.owner, m.uid, m.number, m.shape.fill(values), created, created}
}

// uid is a UID of the n-th object of a kind.
func uid(kind, n int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, n) }

// The kinds of object that have UIDs of their own, with two of each that is in members.
const (
	uidTemplate = iota
	uidBinding
	uidBindingID
	uidPolicy
	uidPolicyID
	uidCluster
	afterSingles
)

const (
	uidWork       = afterSingles
	uidWorkID     = uidWork + 2
	uidMember     = uidWorkID + 2
	uidReplicaSet = uidMember + 2
	uidPod        = uidReplicaSet + 2
)

var scaleBegin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// around are the objects of an instance that workloads need: its members and policies.
func around(n int) (rows [][]any) {
	instance := scaleInstance(n)
	virtual, members := v1alpha1.VirtualClusterName(instance), scaleMembers(instance)
	for k, member := range members {
		id := uid(uidCluster, 2*n+k)
		rows = append(rows, made{clusterShape, "cluster.karmada.io", "v1alpha1", "clusters", "Cluster", virtual, "", member, "", id, "1"}.
			row(map[string]string{"cluster": member, "clusterUID": id}, scaleBegin))
	}
	for ns := range scaleNamespaces {
		number := n*scaleNamespaces + ns
		values := map[string]string{
			"namespace": scaleNamespace(ns), "first": members[0], "second": members[1],
			"policyUID": uid(uidPolicy, number), "policyID": uid(uidPolicyID, number),
		}
		rows = append(rows, made{policyShape, "policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy", virtual, scaleNamespace(ns), "all", "", values["policyUID"], "1"}.
			row(values, scaleBegin))
	}
	return rows
}

// objects are those of workload i.
func (f scaleFleet) objects(i int) (rows [][]any) {
	instance, namespace, name := scaleInstance(instanceOf(i)), scaleNamespace(namespaceOf(i)), scaleName(i)
	virtual, members := v1alpha1.VirtualClusterName(instance), scaleMembers(instance)
	created, number := scaleBegin.Add(time.Duration(i)*7*time.Second), strconv.Itoa(i+2)
	values := map[string]string{
		"name": name, "namespace": namespace, "team": scaleTeam(teamOf(i)), "tier": fmt.Sprintf("tier-%d", i%3),
		"image": fmt.Sprintf("registry.example.com/scale/%s:1.%d.%d", name, i%10, i%7), "first": members[0], "second": members[1],
		"uid": uid(uidTemplate, i), "bindingUID": uid(uidBinding, i), "bindingID": uid(uidBindingID, i),
		"policyID": uid(uidPolicyID, instanceOf(i)*scaleNamespaces+namespaceOf(i)), "work": workload.KindDeployment.WorkName(namespace, name), "total": "2",
	}
	inFirst := whereHealthy
	if f.degraded(i) {
		inFirst, values["total"] = whereDegraded, "1"
	}
	maps.Copy(values, inFirst)
	add := func(m made) { rows = append(rows, m.row(values, created)) }
	add(made{templateShape, "apps", "v1", "deployments", "Deployment", virtual, namespace, name, "", values["uid"], number})
	add(made{bindingShape, "work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding", virtual, namespace, workload.KindDeployment.BindingName(name), values["uid"], values["bindingUID"], number})
	for k, member := range members {
		if k == 1 {
			maps.Copy(values, whereHealthy)
		}
		values["cluster"], values["workUID"], values["workID"] = member, uid(uidWork+k, i), uid(uidWorkID+k, i)
		values["memberUID"], values["replicaSetUID"], values["podUID"] = uid(uidMember+k, i), uid(uidReplicaSet+k, i), uid(uidPod+k, i)
		add(made{workShape, "work.karmada.io", "v1alpha1", "works", "Work", virtual, workload.ExecutionNamespace(member), values["work"], "", values["workUID"], number})
		add(made{deploymentShape, "apps", "v1", "deployments", "Deployment", member, namespace, name, "", values["memberUID"], number})
		add(made{replicaSetShape, "apps", "v1", "replicasets", "ReplicaSet", member, namespace, name + "-7fbb6c6567", values["memberUID"], values["replicaSetUID"], number})
		add(made{podShape, "", "v1", "pods", "Pod", member, namespace, name + "-7fbb6c6567-hhxqx", values["replicaSetUID"], values["podUID"], number})
	}
	return rows
}
