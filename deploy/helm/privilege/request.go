package privilege

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a line of the audit log.
type Request struct {
	Verb             string                     `json:"verb"`
	RequestURI       string                     `json:"requestURI"`
	User             authenticationv1.UserInfo  `json:"user"`
	ImpersonatedUser *authenticationv1.UserInfo `json:"impersonatedUser"`
	ResponseStatus   metav1.Status              `json:"responseStatus"`
	ObjectRef        struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Annotations map[string]string `json:"annotations"`
}

// The annotations in which the API server says how it decided.
const (
	decisionAnnotation = "authorization.k8s.io/decision"
	reasonAnnotation   = "authorization.k8s.io/reason"
)

// account is the service account that sent the request, without its namespace; empty
// for other users.
func (r *Request) account(namespace string) string {
	account, found := strings.CutPrefix(r.User.Username, "system:serviceaccount:"+namespace+":")
	if !found {
		return ""
	}
	return account
}

func (r *Request) resource() string {
	if r.ObjectRef.Subresource != "" {
		return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
	}
	return r.ObjectRef.Resource
}

// byRole finds the role in the API server's reason for an allowed request.
var byRole = regexp.MustCompile(`^RBAC: allowed by (?:Cluster)?RoleBinding "(?:[^"/]+/([^"]+)|[^"]+)" of (Cluster)?Role "([^"]+)" `)

// allowedBy is the role that allowed the request.
func (r *Request) allowedBy(roles []Role) *Role {
	found := byRole.FindStringSubmatch(r.Annotations[reasonAnnotation])
	if found == nil {
		return nil
	}
	for i := range roles {
		role := &roles[i]
		if role.Name == found[3] && (role.Kind == "ClusterRole") == (found[2] != "") && role.Namespace == found[1] {
			return role
		}
	}
	return nil
}

// impersonation finds which user could not be impersonated.
var impersonation = regexp.MustCompile(`cannot impersonate resource "([^"]+)" in API group "([^"]*)"`)

// finding is what to make of a request.
type finding int

const (
	fine finding = iota
	// refused: the roles do not allow it.
	refused
	// early: they do, and the API server did not know yet. One that has just started
	// forbids everything until it has read the roles.
	early
	// ending: nothing can be made in a namespace that is being deleted, regardless of the user.
	ending
)

// judge tells a refusal that is the roles' fault from others.
func (r *Request) judge(account string, roles []Role) finding {
	if r.ResponseStatus.Code != http.StatusForbidden {
		return fine
	}
	if as := impersonation.FindStringSubmatch(r.ResponseStatus.Message); as != nil {
		return earlyIf(may(account, roles, "impersonate", as[2], as[1], "", ""))
	}
	if r.ImpersonatedUser != nil {
		return fine // It is that person's.
	}
	switch {
	case strings.Contains(r.ResponseStatus.Message, "because it is being terminated"):
		return ending
	case r.Annotations[decisionAnnotation] == "allow":
		return refused // By what stands behind RBAC: a user gives away what they do not have, or the index refuses.
	case r.ObjectRef.Resource == "":
		return earlyIf(r.Verb == "get" && slices.Contains(forAllUsers, path(r.RequestURI)))
	default:
		return earlyIf(may(account, roles, r.Verb, r.ObjectRef.APIGroup, r.resource(), r.ObjectRef.Namespace, r.ObjectRef.Name))
	}
}

// forAllUsers are the paths that Kubernetes lets everybody read who has logged in: they
// are those of its role system:public-info-viewer.
var forAllUsers = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}

func path(uri string) string {
	before, _, _ := strings.Cut(uri, "?")
	return before
}

func earlyIf(allowed bool) finding {
	if allowed {
		return early
	}
	return refused
}

func may(account string, roles []Role, verb, group, resource, namespace, name string) bool {
	for i := range roles {
		if roles[i].Account != account {
			continue
		}
		for _, right := range roles[i].rights() {
			if right.covers(verb, group, resource, namespace, name) {
				return true
			}
		}
	}
	return false
}
