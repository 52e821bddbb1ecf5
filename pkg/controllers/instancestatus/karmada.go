package instancestatus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// Where Karmada's parts show themselves to clients outside.
const (
	// aggregatedPath is served by karmada-aggregated-apiserver.
	aggregatedPath = "/apis/cluster.karmada.io/v1alpha1"
	// apiServicePath says why it is not reached.
	apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.cluster.karmada.io"
	// policyPath comes with Karmada's CRDs.
	policyPath = "/apis/policy.karmada.io/v1alpha1"
	// leasesPath is where those components keep a Lease that elect a leader.
	leasesPath = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases?limit=100"
	// admissionPath, with a dry run, goes through karmada-webhook and stores nothing.
	admissionPath = policyPath + "/namespaces/default/propagationpolicies?dryRun=All&fieldManager=" + Name
)

// components are those without which nothing is propagated. They serve nothing
// that could be asked from outside: their Leases are all that shows of them.
var components = []string{"karmada-controller-manager", "karmada-scheduler"}

// facts are what a look showed of Karmada.
type facts struct {
	// aggregated and policies are why an API group cannot be read.
	aggregated, policies error
	// apiService is what the apiserver says about the way to the aggregated one,
	// when that is not reached.
	apiService string
	// leases are those of karmada-system, by name; nil when they could not be read.
	leases map[string]*coordinationv1.LeaseSpec
	// now is the instance's own time: Leases hold that.
	now time.Time
	// admission is why the webhook is not reached; nil as well when it was not tried,
	// or when trying is not allowed.
	admission error
	// endpoint is for messages.
	endpoint string
}

// ask reads what of Karmada can be read. Whether policies are admitted is another
// question, for when it is due: it costs the instance more than a read.
func ask(ctx context.Context, to probe.Asker, endpoint string) *facts {
	f := &facts{endpoint: endpoint}
	if _, f.policies = to.Get(ctx, policyPath); f.policies != nil {
		return f
	}
	if _, f.aggregated = to.Get(ctx, aggregatedPath); f.aggregated != nil {
		f.apiService = apiService(ctx, to)
		return f
	}
	if answer, err := to.Get(ctx, leasesPath); err == nil {
		list := &coordinationv1.LeaseList{}
		if json.Unmarshal(answer.Body, list) == nil {
			f.now, f.leases = answer.Date, map[string]*coordinationv1.LeaseSpec{}
			for i := range list.Items {
				f.leases[list.Items[i].Name] = &list.Items[i].Spec
			}
		}
	}
	return f
}

// served reports whether Karmada's APIs can be read.
func (f *facts) served() bool { return f.policies == nil && f.aggregated == nil }

// apiService is the apiserver's own word about the aggregated one.
func apiService(ctx context.Context, to probe.Asker) string {
	answer, err := to.Get(ctx, apiServicePath)
	if err != nil {
		return ""
	}
	var object struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(answer.Body, &object) != nil {
		return ""
	}
	for _, c := range object.Status.Conditions {
		if c.Type == "Available" && c.Status != metav1.ConditionTrue && len(c.Reason) < 64 {
			return c.Reason // Its message has addresses and errors that change each time.
		}
	}
	return ""
}

// candidate is a policy that selects nothing that exists.
const candidate = `{"apiVersion":"policy.karmada.io/v1alpha1","kind":"PropagationPolicy",` +
	`"metadata":{"generateName":"kairship-is-the-webhook-there-","namespace":"default"},` +
	`"spec":{"resourceSelectors":[{"apiVersion":"v1","kind":"ConfigMap","name":"kairship-is-the-webhook-there"}],` +
	`"placement":{"clusterAffinity":{"clusterNames":["kairship-is-the-webhook-there"]}}}}`

// Why policies are not admitted.
var (
	errWebhook = errors.New("the apiserver cannot call Karmada's webhook about a policy")
	errSilence = fmt.Errorf("the apiserver does not say within %s whether a policy is admitted", patience)
)

// patience is longer than a look may last: the apiserver itself waits for the
// webhook, and its own word about that is worth more than our timeout.
const patience = 8 * time.Second

// admit tries whether a policy is admitted. Only a webhook that does not answer is
// a failure: one that answers no, and an apiserver that does not let us ask, say
// nothing against it.
func admit(ctx context.Context, to probe.Asker) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, err := to.Post(ctx, admissionPath, []byte(candidate))
	answer, answered := errors.AsType[*probe.HTTPError](err)
	switch {
	case answered && answer.Status >= http.StatusInternalServerError && strings.Contains(string(answer.Body), "webhook"):
		return errWebhook
	case errors.Is(err, context.DeadlineExceeded):
		return errSilence
	}
	return nil
}

// skew is how much longer than its promised duration a component may leave its Lease without
// renewal. The look may have been a moment before the renewal, and a change of leaders takes time.
const skew = 10 * time.Second

// judge returns the condition for the facts. The message also names what cannot be seen, and is the
// same for the same state.
func (f *facts) judge() metav1.Condition {
	for _, group := range []struct {
		path string
		err  error
	}{{policyPath, f.policies}, {aggregatedPath, f.aggregated}} {
		if group.err != nil {
			return f.judgeGroup(group.path, group.err)
		}
	}
	if f.admission != nil {
		return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonWebhookFailed,
			"Policies are not admitted, because "+f.admission.Error()+": is karmada-webhook running?")
	}
	var seen, unseen []string
	for _, component := range components {
		lease := f.leases[component]
		switch {
		case lease == nil || lease.RenewTime == nil:
			unseen = append(unseen, component)
		case f.over(lease):
			return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonComponentDown,
				fmt.Sprintf("%s has not renewed its Lease since %s: is it running?", component, lease.RenewTime.UTC().Format(time.RFC3339)))
		default:
			seen = append(seen, component)
		}
	}
	message := "Karmada's APIs are served and policies are admitted."
	if len(seen) > 0 {
		message += fmt.Sprintf(" Running by their Leases: %s.", strings.Join(seen, ", "))
	}
	if len(unseen) > 0 {
		slices.Sort(unseen)
		message += fmt.Sprintf(" Not visible, because without a Lease that can be read: %s.", strings.Join(unseen, ", "))
	}
	return v1alpha1.ControlPlaneHealthy(message)
}

// over reports whether the Lease should have been renewed.
func (f *facts) over(lease *coordinationv1.LeaseSpec) bool {
	if f.now.IsZero() {
		return false // The instance does not report its time, and ours may differ.
	}
	const usual = 15
	promised := time.Duration(cmp.Or(deref(lease.LeaseDurationSeconds), usual)) * time.Second
	return f.now.After(lease.RenewTime.Add(promised + skew))
}

func deref(number *int32) int32 {
	if number == nil {
		return 0
	}
	return *number
}

func (f *facts) judgeGroup(path string, err error) metav1.Condition {
	answer, answered := errors.AsType[*probe.HTTPError](err)
	switch {
	case !answered:
		return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonUnhealthy, fmt.Sprintf("It answers, but not in time for %s.", path))
	case answer.Status == http.StatusNotFound && f.apiService == "":
		return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonKarmadaMissing,
			fmt.Sprintf("%s does not serve %s: it is no Karmada control plane.", f.endpoint, path))
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonRefused,
			fmt.Sprintf("The credentials may not read %s (HTTP %d).", path, answer.Status))
	case path == aggregatedPath:
		why := ""
		if f.apiService != "" {
			why = fmt.Sprintf(" (%s)", f.apiService)
		}
		return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonAggregationFailed,
			fmt.Sprintf("The apiserver does not reach karmada-aggregated-apiserver%s: is it running?", why))
	}
	return v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonUnhealthy, fmt.Sprintf("%s answers with HTTP %d.", path, answer.Status))
}
