package explanation

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// codeCases bring about each code: the code with the cluster it is about, why, and where the
// propagation stands.
var codeCases = []struct {
	code, reason string
	make         func(*workload.Explainable)
	stage        Stage
	state        State
}{
	{"POLICY_CLAIMED", "all is well", func(x *workload.Explainable) { scheduled(x) }, StageRun, StatePassed},
	{"POLICY_DEPENDENCY", "another object requires it", func(x *workload.Explainable) {
		b := scheduled(x)
		x.Facts.Template.Annotations = nil
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "app", Clusters: b.Spec.Clusters}}
	}, StageRun, StatePassed},
	{"POLICY_NONE", "there is no policy", func(*workload.Explainable) {}, StagePolicy, StateFailed},
	{"POLICY_CLAIM_PENDING", "a policy was just made", func(x *workload.Explainable) {
		x.Policies = append(x.Policies, like("shop", "web", selecting(byName())))
	}, StagePolicy, StateWaiting},
	{"POLICY_CLAIM_PENDING", "a policy was made in the place of a deleted one", func(x *workload.Explainable) {
		scheduled(x)
		x.Facts.Template.Annotations = nil
	}, StagePolicy, StateFailed},
	{"POLICY_CLAIM_LOST", "its policy was deleted", func(x *workload.Explainable) {
		scheduled(x)
		x.Facts.Template.Annotations, x.Policies = nil, nil
	}, StagePolicy, StateFailed},
	{"POLICY_GONE", "the claim was left", func(x *workload.Explainable) { scheduled(x); x.Policies = nil }, StageRun, StatePassed},
	{"POLICY_DELETING", "a policy that selects it leaves", func(x *workload.Explainable) {
		p := like("shop", "web", selecting(byName()))
		p.Common().Indexed.Meta.DeletionTimestamp = &at
		x.Policies = append(x.Policies, p)
	}, StagePolicy, StateFailed},
	{"POLICY_DELETING", "its policy leaves", func(x *workload.Explainable) {
		scheduled(x)
		x.Facts.Policy = &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at}}
	}, StagePolicy, StateWaiting},
	{"POLICY_CHANGE_PENDING", "the placement of its policy is another", func(x *workload.Explainable) {
		scheduled(x)
		x.Facts.Policy = &policyv1alpha1.PropagationPolicy{}
		x.Facts.Policy.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}
	}, StagePolicy, StateWaiting},
	{"POLICY_NO_LONGER_SELECTS", "it was relabelled", func(x *workload.Explainable) {
		scheduled(x)
		s := byLabel()
		s.LabelSelector.MatchLabels["app"] = "other"
		x.Policies[0].PropagationSpec().ResourceSelectors = []policyv1alpha1.ResourceSelector{s}
	}, StageRun, StatePassed},
	{"POLICY_OUTRANKED", "another one selects by labels", func(x *workload.Explainable) {
		scheduled(x)
		x.Policies = append(x.Policies, like("shop", "apps", selecting(byLabel())))
	}, StageRun, StatePassed},
	{"POLICY_OUTRANKED", "a ClusterPropagationPolicy comes last, whatever its priority", func(x *workload.Explainable) {
		scheduled(x)
		spec := selecting(byName())
		spec.Priority = new(int32(100))
		x.Policies = append(x.Policies, like("", "all", spec))
	}, StageRun, StatePassed},
	{"POLICY_NOT_PREEMPTING", "another one has a higher priority", func(x *workload.Explainable) {
		scheduled(x)
		spec := selecting(byLabel())
		spec.Priority = new(int32(1))
		x.Policies = append(x.Policies, like("shop", "apps", spec))
	}, StageRun, StatePassed},
	{"POLICY_LAZY", "a lazy policy claimed it", func(x *workload.Explainable) {
		claimed(x)
		x.Policies[0].PropagationSpec().ActivationPreference = policyv1alpha1.LazyActivation
	}, StagePolicy, StateWaiting},
	{"POLICY_OVERRIDES_MISSING", "the policy waits for others", func(x *workload.Explainable) {
		spec := selecting(byName())
		spec.DependentOverrides = []string{"missing"}
		x.Policies = append(x.Policies, like("shop", "web", spec))
	}, StagePolicy, StateWaiting},
	{"POLICY_KIND_DIFFERS", "a StatefulSet of these labels", nearly(func(s *policyv1alpha1.ResourceSelector) { s.Kind = "StatefulSet" }), StagePolicy, StateFailed},
	{"POLICY_API_VERSION_DIFFERS", "an older version", nearly(func(s *policyv1alpha1.ResourceSelector) { s.APIVersion = "apps/v1beta1" }), StagePolicy, StateFailed},
	{"POLICY_NAMESPACE_DIFFERS", "another namespace", nearly(func(s *policyv1alpha1.ResourceSelector) { s.Namespace = "stage" }), StagePolicy, StateFailed},
	{"POLICY_LABELS_DIFFER", "one label more", nearly(func(s *policyv1alpha1.ResourceSelector) { s.LabelSelector.MatchLabels["tier"] = "1" }), StagePolicy, StateFailed},
	{"NAMESPACE_NEVER_PROPAGATED", "a namespace of Karmada", func(x *workload.Explainable) { x.Facts.Template.Namespace = "karmada-system" }, StagePolicy, StateFailed},
	{"BINDING_PENDING", "there is none", claimed, StagePolicy, StateWaiting},
	{"BINDING_PENDING", "it has other replicas", func(x *workload.Explainable) { scheduled(x); x.Facts.Template.Spec.Replicas = new(int32(2)) }, StagePolicy, StateWaiting},
	{"TEMPLATE_DELETING", "it leaves", func(x *workload.Explainable) { scheduled(x); x.Facts.Template.DeletionTimestamp = &at }, StagePolicy, StateWaiting},

	{"SCHEDULER_PENDING", "it was just bound", func(x *workload.Explainable) { bound(x) }, StageScheduling, StateWaiting},
	{"SCHEDULER_PENDING", "the binding is newer than the decision", func(x *workload.Explainable) {
		b := scheduled(x)
		b.Generation, b.Status.SchedulerObservedGeneration = 2, 1
	}, StageScheduling, StateWaiting},
	{"SCHEDULER_OTHER", "another scheduler is named", func(x *workload.Explainable) { bound(x).Spec.SchedulerName = "mine" }, StageScheduling, StateWaiting},
	{"SCHEDULING_SUSPENDED", "before it began", func(x *workload.Explainable) {
		bound(x).Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
	}, StageScheduling, StateWaiting},
	{"SCHEDULING_SUSPENDED", "while it runs", func(x *workload.Explainable) {
		scheduled(x).Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
	}, StageScheduling, StateWaiting},
	{"NO_CLUSTER_FITS", "the scheduler says so", func(x *workload.Explainable) {
		condition(bound(x), workv1alpha2.BindingReasonNoClusterFit, metav1.ConditionFalse)
	}, StageScheduling, StateFailed},
	{"NO_CLUSTER_CHOSEN", "the scheduler is content", func(x *workload.Explainable) {
		condition(bound(x), workv1alpha2.BindingReasonSuccess, metav1.ConditionTrue)
	}, StageScheduling, StateFailed},
	{"NOT_ENOUGH_RESOURCES", "while an earlier one runs", func(x *workload.Explainable) {
		condition(scheduled(x), workv1alpha2.BindingReasonUnschedulable, metav1.ConditionFalse)
	}, StageScheduling, StateFailed},
	{"QUOTA_EXCEEDED", "a quota", func(x *workload.Explainable) {
		condition(bound(x), workv1alpha2.BindingReasonQuotaExceeded, metav1.ConditionFalse)
	}, StageScheduling, StateFailed},
	{"SCHEDULER_ERROR", "an error", func(x *workload.Explainable) {
		condition(bound(x), workv1alpha2.BindingReasonSchedulerError, metav1.ConditionFalse)
	}, StageScheduling, StateFailed},
	{"CLUSTER_API_MISSING m2", "the kind is not served", placedBy(policyv1alpha1.Placement{}, func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil }), StageScheduling, StateFailed},
	{"CLUSTER_AFFINITY m2", "another one is named", placedBy(policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m9"}}}, nothing), StageScheduling, StateFailed},
	{"CLUSTER_AFFINITY m2", "none of several", placedBy(policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "a", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m9"}}},
		{AffinityName: "b", ClusterAffinity: policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"m1", "m2"}}},
	}}, nothing), StageScheduling, StateFailed},
	{"CLUSTER_TAINT m2", "a taint", placedBy(policyv1alpha1.Placement{}, func(c *clusterv1alpha1.Cluster) {
		c.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}), StageScheduling, StateFailed},
	{"CLUSTER_SPREAD m2", "no region", placedBy(policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldRegion}}}, nothing), StageScheduling, StateFailed},
	{"CLUSTER_EVICTING m2", "it moves", func(x *workload.Explainable) {
		scheduled(x).Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m2"}}
	}, StageRun, StatePassed},
	{"CLUSTER_LEAVING m2", "it is still there", func(x *workload.Explainable) {
		b := scheduled(x)
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: "m2", Applied: true})
	}, StageRun, StatePassed},
	{"CLUSTER_DELETING m2", "the cluster leaves", placedBy(policyv1alpha1.Placement{}, func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = &at }), StageScheduling, StateFailed},
	{"CLUSTER_WEIGHT_ZERO m2", "m1 has all of the weight", func(x *workload.Explainable) {
		scheduled(x).Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
			WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}, Weight: 1}}},
		}
	}, StageRun, StatePassed},
	{"CLUSTER_NOT_CHOSEN m2", "m1 is enough", func(x *workload.Explainable) { scheduled(x) }, StageRun, StatePassed},

	{"OVERRIDE_APPLIED m1", "as the Work records", func(x *workload.Explainable) {
		scheduled(x)
		overriddenBy(x, "m1")
		x.Facts.Overrides["m1"] = []workload.AppliedOverride{{PolicyName: "web"}}
	}, StageRun, StatePassed},
	{"OVERRIDE_PENDING m1", "the Work does not record it", func(x *workload.Explainable) { scheduled(x); overriddenBy(x, "m1") }, StageOverride, StateWaiting},
	{"OVERRIDE_OTHER_CLUSTER m1", "its rule is for m2", func(x *workload.Explainable) { scheduled(x); overriddenBy(x, "m2") }, StageRun, StatePassed},
	{"DISPATCH_SUSPENDED m1", "before it began", func(x *workload.Explainable) {
		b := scheduled(x)
		b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
		b.Status.AggregatedStatus, x.Facts.Objects = nil, nil
	}, StageDispatch, StateWaiting},
	{"WORK_MISSING m1", "there is none", func(x *workload.Explainable) {
		scheduled(x).Status.AggregatedStatus = nil
		x.Works, x.Facts.Objects, x.Facts.Overrides = nil, nil, map[string][]workload.AppliedOverride{}
	}, StageDispatch, StateWaiting},

	{"APPLY_PENDING m1", "the cluster has not answered", func(x *workload.Explainable) {
		scheduled(x).Status.AggregatedStatus = nil
		x.Facts.Objects = nil
	}, StageApply, StateWaiting},
	{"APPLY_CONFLICT m1", "Karmada's words", unapplied("resource(kind=Deployment, shop/web) already exists in the cluster m1 and the strategy value is empty"), StageApply, StateFailed},
	{"APPLY_NAMESPACE_MISSING m1", "the API server's words", unapplied(`namespaces "shop" not found`), StageApply, StateFailed},
	{"APPLY_API_MISSING m1", "the mapper's words", unapplied(`no matches for kind "Foo" in version "example.com/v1"`), StageApply, StateFailed},
	{"APPLY_REFUSED m1", "a webhook's words", unapplied(`admission webhook "x" denied the request: no`), StageApply, StateFailed},
	{"APPLY_REFUSED m1", "a missing right", unapplied(`deployments.apps is forbidden: User "x" cannot create`), StageApply, StateFailed},
	{"APPLY_INVALID m1", "the API server's words", unapplied(`Deployment.apps "web" is invalid: spec.replicas: must be positive`), StageApply, StateFailed},
	{"APPLY_UNAUTHORIZED m1", "a token that ended", unapplied("Unauthorized"), StageApply, StateFailed},
	{"APPLY_UNREACHABLE m1", "a closed port", unapplied("dial tcp 10.0.0.1:6443: connect: connection refused"), StageApply, StateFailed},
	{"APPLY_FAILED m1", "a webhook that cannot be called", unapplied(`Internal error occurred: failed calling webhook "x": connect: connection refused`), StageApply, StateFailed},
	{"APPLY_FAILED m1", "words that are not known", unapplied("the storage is read only"), StageApply, StateFailed},
	{"CLUSTER_NOT_READY m1", "it runs there", func(x *workload.Explainable) {
		scheduled(x)
		m := x.Facts.Members["m1"]
		m.Ready, m.Message = metav1.ConditionFalse, "ClusterNotReachable"
		x.Facts.Members["m1"] = m
	}, StageRun, StateFailed},
	{"CLUSTER_GONE m1", "it never got there", func(x *workload.Explainable) {
		scheduled(x).Status.AggregatedStatus = nil
		delete(x.Facts.Members, "m1")
	}, StageApply, StateFailed},

	{"STATUS_PENDING m1", "it was just applied", func(x *workload.Explainable) { scheduled(x); x.Facts.Objects = nil }, StageRun, StateWaiting},
	{"ROLLOUT_PROGRESSING m1", "its pod starts", unready(waits("ContainerCreating")), StageRun, StateWaiting},
	{"ROLLOUT_FAILED m1", "its deadline is over", objectSays("Progressing", metav1.ConditionFalse), StageRun, StateFailed},
	{"REPLICAS_NOT_CREATED m1", "a quota", objectSays("ReplicaFailure", metav1.ConditionTrue), StageRun, StateFailed},
	{"REPLICAS_NOT_READY m1", "it crashed later", objectSays("Available", metav1.ConditionFalse, workload.ObjectCondition{Type: "Progressing", Status: metav1.ConditionTrue, Reason: "NewReplicaSetAvailable"}), StageRun, StateFailed},
	{"JOB_FAILED m1", "it gave up", func(x *workload.Explainable) {
		objectSays("Failed", metav1.ConditionTrue)(x)
		x.Facts.Kind = workload.KindJob
	}, StageRun, StateFailed},
	{"CRON_JOB_RUN_FAILED m1", "no success after the last run", func(x *workload.Explainable) {
		scheduled(x)
		x.Facts.Kind, x.Facts.Objects["m1"].Status = workload.KindCronJob, workload.ObjectStatus{LastScheduleTime: &at}
	}, StageRun, StateFailed},
	{"POD_UNSCHEDULABLE m1", "no node", unready(podIs(corev1.PodPending, corev1.PodScheduled)), StageRun, StateWaiting},
	{"POD_IMAGE m1", "no such image", unready(waits("ImagePullBackOff")), StageRun, StateWaiting},
	{"POD_CRASHING m1", "it waits to be started again", unready(waits("CrashLoopBackOff")), StageRun, StateWaiting},
	{"POD_CRASHING m1", "it just ended", unready(corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}}), StageRun, StateWaiting},
	{"POD_CONFIGURATION m1", "no such ConfigMap", unready(waits("CreateContainerConfigError")), StageRun, StateWaiting},
	{"POD_FAILED m1", "it was evicted", unready(corev1.PodStatus{Phase: corev1.PodFailed, Message: "evicted"}), StageRun, StateWaiting},
	{"POD_NOT_READY m1", "its probe fails", unready(podIs(corev1.PodRunning, corev1.PodReady)), StageRun, StateWaiting},
	{"POD_STARTING m1", "it starts", unready(waits("ContainerCreating")), StageRun, StateWaiting},
}
