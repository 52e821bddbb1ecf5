package instanceaccess

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// whileLeaving is when to try again to remove the rules of an Instance that is
// being deleted.
const whileLeaving = 3 * time.Second

// unreached ends a reconciliation because the instance can't be reached. It returns no error: the
// bindings get a condition, and the instance is tried again at growing intervals, or as soon as it
// answers.
func (r *Reconciler) unreached(ctx context.Context, s *scope, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // We are being stopped, which says nothing about the instance.
	}
	if apierrors.IsConflict(err) {
		return err // It answers, and another client changed what we were about to.
	}
	if s.leaving() {
		return r.abandon(ctx, s, err)
	}
	why := r.problem(s, err)
	wanted := v1alpha1.InstanceBoundUnknown(v1alpha1.ReasonUnreachable, why)
	if apierrors.IsForbidden(err) {
		wanted = v1alpha1.InstanceNotBound(v1alpha1.ReasonNotAllowed, why)
	}
	s.tell(wanted, s.stuck(why))
	pause := r.pauses.next(s.name)
	log.FromContext(ctx).Info("Cannot see to the access rules of an instance", "cause", why, "nextAttempt", pause.String())
	return stop(pause)
}

// problem says what is wrong, in the same words each time.
func (r *Reconciler) problem(s *scope, err error) string {
	answer := apierrors.APIStatus(nil)
	if !errors.As(err, &answer) {
		reachable, _ := probe.Judge(probe.Observation{Err: err, Endpoint: s.to.Endpoint, Timeout: r.Timeout})
		return reachable.Message
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized:
		return fmt.Sprintf("%s does not accept the credentials (HTTP %d): put valid ones into the Secret.", s.to.Endpoint, code)
	case http.StatusForbidden:
		return notAllowed("see to the access rules", err)
	default:
		return fmt.Sprintf("%s answers with HTTP %d.", s.to.Endpoint, code)
	}
}

// notAllowed says what the instance refuses, and what to do about it.
func notAllowed(what string, err error) string {
	return fmt.Sprintf("The instance does not let its credentials %s. They need every permission that they give away, as cluster-admin has: %v", what, err)
}

// refusal reports whether the instance answered and does not want this one object. To
// try it again soon is of no use.
func refusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// abandon lets an Instance go whose rules cannot be removed, once that was tried
// for some time. An instance that is not reachable any more must not be kept
// registered by it.
func (r *Reconciler) abandon(ctx context.Context, s *scope, cause error) error {
	why := r.problem(s, cause)
	reachable := reasonOf(cause) == ""
	if !reachable {
		why = cause.Error()
	}
	if reachable && time.Since(r.farewells.begun(s.instance)) < r.Patience {
		s.tell(v1alpha1.InstanceBoundUnknown(v1alpha1.ReasonUnreachable, why), s.stuck(why))
		return stop(whileLeaving)
	}
	if s.holding() {
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeWarning, "AccessRulesLeft", "Forget",
			"The access rules kairship:* could not be removed from the instance and stay there: %s", why)
	}
	r.instances.forget(s.name)
	s.letGo()
	if err := r.letInstanceGo(ctx, s); err != nil {
		return err
	}
	return stop(0)
}

// farewells are when the rules of Instances that are being deleted were first tried to
// be removed in vain. It may be days after the deletion, and a process that begins anew
// is patient once more. The zero value is ready for use.
type farewells struct {
	mu  sync.Mutex
	all map[string]farewell // by the name of the Instance
}

type farewell struct {
	uid   types.UID
	begun time.Time
}

func (f *farewells) begun(instance *v1alpha1.Instance) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]farewell{}
	}
	if f.all[instance.Name].uid != instance.UID {
		f.all[instance.Name] = farewell{instance.UID, time.Now()}
	}
	return f.all[instance.Name].begun
}

func (f *farewells) forget(instance string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, instance)
}

// pauses are the pauses between attempts to reach an instance, by its name. The
// zero value is ready for use.
type pauses struct {
	once    sync.Once
	limiter workqueue.TypedRateLimiter[string]
}

func (p *pauses) init() {
	const first, longest = time.Second, time.Minute
	p.once.Do(func() { p.limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[string](first, longest) })
}

func (p *pauses) next(instance string) time.Duration {
	p.init()
	return p.limiter.When(instance)
}

func (p *pauses) forget(instance string) {
	p.init()
	p.limiter.Forget(instance)
}

// reachedOtherwise lets through what may end or begin an outage: the instance
// was seen to answer, or not any more, or its credentials are somewhere else.
func reachedOtherwise() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.Instance)
			after, also := e.ObjectNew.(*v1alpha1.Instance)
			if !ok || !also {
				return false
			}
			answers := func(i *v1alpha1.Instance) bool {
				return meta.IsStatusConditionTrue(i.Status.Conditions, v1alpha1.ConditionReachable)
			}
			was, is := before.CredentialsRef(), after.CredentialsRef()
			return answers(before) != answers(after) || (was == nil) != (is == nil) || (was != nil && *was != *is)
		},
	}
}
