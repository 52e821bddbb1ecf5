package write

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// subject is what a refused request was about.
type subject struct {
	instance        string
	verb            string
	kind            Kind
	namespace, name string
	paths           Paths
	// sent is the object that was sent, as a map; nil for what is no object.
	sent any
}

func (s subject) String() string {
	name := s.name
	if s.namespace != "" {
		name = s.namespace + "/" + name
	}
	return s.kind.Kind + " " + quote(name)
}

// secret reports whether what the instance states about the object may hold what no caller may read.
func (s subject) secret() bool { return s.kind.Group == "" && s.kind.Resource == "secrets" }

// translate converts the error of a request into one about the inputs.
func (s *Site) translate(ctx context.Context, c call, err error) error {
	about := subject{
		instance: s.Instance, verb: c.verb, kind: c.kind, namespace: c.namespace, name: c.name, paths: c.options.Paths, sent: c.object,
	}
	translated := about.translate(err)
	e, ok := errors.AsType[*apierror.Error](translated)
	if !ok || e.Code != apierror.CodeConflict || c.verb == http.MethodGet || len(e.Fields) > 0 {
		return translated
	}
	// The current object is read as the caller, who may have lost the permission.
	now, err := s.Get(ctx, c.kind, c.namespace, c.name, nil)
	if err != nil {
		return translated
	}
	current := *e
	current.CurrentVersion = now.GetResourceVersion()
	current.Message += fmt.Sprintf("; it is at resourceVersion %s now", current.CurrentVersion)
	return &current
}

// Translate converts Kubernetes' refusal of a request into an error about the inputs of a mutation.
// It is a pure function. Kairship's own errors are returned as they are, with their instance.
func Translate(instance string, err error, kind Kind, verb, namespace, name string, paths Paths) error {
	return subject{instance: instance, verb: verb, kind: kind, namespace: namespace, name: name, paths: paths}.translate(err)
}

func (s subject) translate(err error) error {
	if own, ok := errors.AsType[*apierror.Error](err); ok {
		return apierror.In(own, s.instance)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if meta.IsNoMatchError(err) {
			return apierror.In(apierror.Invalid(s.paths.Argument("kind"), "instance %q does not serve this kind", s.instance), s.instance)
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return err
		}
		return apierror.In(apierror.Wrap(err, apierror.CodeInstanceUnavailable, "instance %q did not answer as expected", s.instance), s.instance)
	}
	said := status.Status()
	e := s.of(&said)
	e.Instance, e.Cause = s.instance, err
	return e
}

func (s subject) of(status *metav1.Status) *apierror.Error {
	if e := s.deniedByKarmada(status); e != nil {
		return e
	}
	if e := s.deniedOverride(status); e != nil {
		return e
	}
	switch status.Reason {
	case metav1.StatusReasonNotFound:
		return s.notFound(status)
	case metav1.StatusReasonAlreadyExists:
		e := apierror.New(apierror.CodeAlreadyExists, "%s exists already", s)
		e.Argument = s.paths.Argument("metadata.name")
		return e
	case metav1.StatusReasonConflict:
		return s.conflict(status)
	case metav1.StatusReasonInvalid:
		return s.invalid(status)
	case metav1.StatusReasonForbidden:
		return s.forbidden(status)
	case metav1.StatusReasonBadRequest, metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonMethodNotAllowed:
		return s.bad(status)
	case metav1.StatusReasonTooManyRequests:
		return apierror.New(apierror.CodeRateLimited, "instance %q has too much to do; try again later", s.instance)
	case metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonServiceUnavailable:
		if s.verb == http.MethodGet {
			return apierror.New(apierror.CodeInstanceUnavailable, "instance %q does not answer about %s now; try again later", s.instance, s.kind.GroupResource())
		}
		return apierror.New(apierror.CodeInstanceUnavailable, "instance %q did not finish in time; whether the change was made shows in the object", s.instance)
	default:
		if e := s.untyped(status); e != nil {
			return e
		}
		if status.Code >= http.StatusBadRequest && status.Code < http.StatusInternalServerError {
			// Admission webhooks choose any code.
			return s.bad(status)
		}
		return apierror.New(apierror.CodeInstanceUnavailable, "instance %q failed at this request", s.instance)
	}
}

// notFound returns the error for a missing object, or for the missing namespace of a new one.
func (s subject) notFound(status *metav1.Status) *apierror.Error {
	d := status.Details
	if d != nil && (d.Kind == "namespaces" || d.Kind == "Namespace") && s.kind.Namespaced {
		e := apierror.NotFound("Namespace", s.namespace)
		e.Argument = s.paths.Argument("metadata.namespace")
		return e
	}
	name := s.name
	if s.namespace != "" {
		name = s.namespace + "/" + name
	}
	e := apierror.NotFound(s.kind.Kind, name)
	e.Argument = s.paths.Argument("metadata.name")
	return e
}

// conflict: the object moved, or others own the fields that are applied.
func (s subject) conflict(status *metav1.Status) *apierror.Error {
	var owned []apierror.Field
	for _, cause := range causes(status) {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			owned = append(owned, apierror.Field{Argument: s.paths.Argument(cause.Field), Message: conflictText(cause.Message)})
		}
	}
	if len(owned) > 0 {
		e := apierror.New(apierror.CodeConflict, "%s has fields that others manage: %s. Leave them out, or apply with force to take them over", s, summary(owned))
		e.Argument, e.Fields = owned[0].Argument, owned
		return e
	}
	e := apierror.New(apierror.CodeConflict, "%s has changed since it was read; read it again and repeat the change", s)
	e.Argument = s.paths.Argument("metadata.resourceVersion")
	return e
}

// invalid: the object is not valid. Every cause names its field.
func (s subject) invalid(status *metav1.Status) *apierror.Error {
	found := causes(status)
	if len(found) == 0 {
		return s.bad(status)
	}
	fields := make([]apierror.Field, len(found))
	for i, cause := range found {
		fields[i] = apierror.Field{Argument: s.paths.Argument(fieldOf(cause.Field)), Message: s.text(cause)}
	}
	return invalid(fields)
}

// invalid is the error of some inputs, of which there is at least one.
func invalid(fields []apierror.Field) *apierror.Error {
	e := apierror.Invalid(fields[0].Argument, "%s", summary(fields))
	if len(fields) == 1 {
		e.Message = fields[0].Message
	}
	e.Fields = fields
	return e
}

// forbidden: RBAC, quota, or an admission plugin.
func (s subject) forbidden(status *metav1.Status) *apierror.Error {
	for _, cause := range causes(status) {
		if cause.Type == "NamespaceTerminating" {
			e := apierror.New(apierror.CodeConflict, "namespace %q is being deleted: nothing can be created in it", s.namespace)
			e.Argument = s.paths.Argument("metadata.namespace")
			return e
		}
	}
	if text, ok := refusal(status.Message); ok && !s.secret() {
		return apierror.New(apierror.CodeForbidden, "instance %q refuses this: %s", s.instance, text)
	}
	where := ""
	if s.namespace != "" {
		where = " in namespace " + quote(s.namespace)
	}
	return apierror.New(apierror.CodeForbidden, "the roles that you have inside instance %q do not let you %s %s%s", s.instance, verbs[s.verb], s.kind.GroupResource(), where)
}

var verbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "change", http.MethodDelete: "delete",
}

// unknownFields are what strict validation reports about fields that a kind does not have.
var unknownFields = regexp.MustCompile(`(unknown|duplicate) field "([^"]+)"`)

// bad: the request could not be read, or an admission webhook refuses it.
func (s subject) bad(status *metav1.Status) *apierror.Error {
	var fields []apierror.Field
	for _, m := range unknownFields.FindAllStringSubmatch(status.Message, -1) {
		fields = append(fields, apierror.Field{Argument: s.paths.Argument(m[2]), Message: m[1] + " field"})
	}
	if len(fields) > 0 {
		e := apierror.Invalid(fields[0].Argument, "%s has %s", s, summary(fields))
		e.Fields = fields
		return e
	}
	argument := s.paths.Argument("")
	text, refused := refusal(status.Message)
	switch {
	case s.secret():
		return apierror.Invalid(argument, "instance %q does not accept this %s", s.instance, s.kind.Kind)
	case refused:
		if field := fieldIn(text); field != "" {
			argument = s.paths.Argument(field)
		}
		return apierror.Invalid(argument, "%s", text)
	case status.Reason == metav1.StatusReasonRequestEntityTooLarge:
		return apierror.Invalid(argument, "%s is larger than instance %q takes", s, s.instance)
	case status.Reason == metav1.StatusReasonMethodNotAllowed:
		return apierror.Invalid(argument, "instance %q does not let anybody do this with %s", s.instance, s.kind.GroupResource())
	}
	return apierror.Invalid(argument, "instance %q does not accept %s: %s", s.instance, s, excerpt.Of(status.Message, mostOfInstance))
}

// typedFields are what server-side apply reports about fields that do not fit the
// kind's schema. Kubernetes calls that an internal error.
var typedFields = regexp.MustCompile(`\.([A-Za-z0-9_./\[\]="-]+): (field not declared in schema|expected [a-z]+)`)

// untyped: an applied object does not fit its kind; nil for other failures. What
// the value was is not repeated.
func (s subject) untyped(status *metav1.Status) *apierror.Error {
	_, text, ok := strings.Cut(status.Message, "failed to create typed patch object")
	if !ok {
		return nil
	}
	var fields []apierror.Field
	for _, m := range typedFields.FindAllStringSubmatch(text, -1) {
		message := m[2]
		if message == "field not declared in schema" {
			message = "unknown field"
		}
		fields = append(fields, apierror.Field{Argument: s.paths.Argument(m[1]), Message: message})
	}
	if len(fields) == 0 {
		return apierror.Invalid(s.paths.Argument(""), "%s does not fit its kind", s)
	}
	e := apierror.Invalid(fields[0].Argument, "%s does not fit its kind: %s", s, summary(fields))
	e.Fields = fields
	return e
}

// refusal is what an admission webhook, a policy or a quota says to the person.
func refusal(message string) (string, bool) {
	for _, mark := range []string{"denied the request: ", "exceeded quota: ", "denied request: "} {
		if _, text, ok := strings.Cut(message, mark); ok {
			if mark == "exceeded quota: " {
				text = "the quota is exceeded: " + text
			}
			return excerpt.Of(text, mostOfInstance), true
		}
	}
	return "", false
}

// leadingField is the field at the beginning of what a webhook says, which
// Karmada's write as Kubernetes does.
var leadingField = regexp.MustCompile(`^\[?((?:spec|metadata)(?:\.[A-Za-z][A-Za-z0-9]*|\[[^\]]*\])*): `)

func fieldIn(text string) string {
	if m := leadingField.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// fieldOf is a cause's field; some causes have none, or say so in words.
func fieldOf(field string) string {
	if field == "<nil>" {
		return ""
	}
	return field
}

// text is what a cause says, for Secrets without the value that it is about.
func (s subject) text(cause metav1.StatusCause) string {
	if !s.secret() {
		return excerpt.Of(cause.Message, mostOfInstance)
	}
	switch cause.Type {
	case metav1.CauseTypeFieldValueRequired:
		return "a value is required"
	case metav1.CauseTypeFieldValueDuplicate:
		return "the value is given twice"
	default:
		return "the value is not accepted"
	}
}

// conflictText is `conflict with "kubectl" using apps/v1` as a person says it.
func conflictText(message string) string {
	return strings.Replace(excerpt.Of(message, mostOfInstance), "conflict with", "managed by", 1)
}

func causes(status *metav1.Status) []metav1.StatusCause {
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// summary is all that is wrong in one sentence, as far as it fits.
func summary(fields []apierror.Field) string {
	const most = 5
	parts := make([]string, 0, most)
	for i, f := range fields {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(fields)-most))
			break
		}
		parts = append(parts, f.Argument+": "+f.Message)
	}
	return strings.Join(parts, "; ")
}

// mostOfInstance is how much of what an instance says a message has, in characters.
const mostOfInstance = 500
