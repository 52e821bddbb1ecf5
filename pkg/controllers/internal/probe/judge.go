package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

// Judge returns the conditions Reachable and Ready for an observation.
//
// The messages are the same for the same state: a message with the local port or the time of day
// would be written to the object at every look. Only the log shows whether a port is closed,
// filtered or silent, and whether a name is known: users who choose an endpoint could otherwise
// explore the network by it.
func Judge(seen Observation) (reachable, ready metav1.Condition) {
	if seen.Err != nil {
		reason, message := whyNot(seen)
		return v1alpha1.Unreachable(reason, message),
			v1alpha1.NotReady(v1alpha1.ReasonUnreachable, "It cannot be reached, see condition Reachable.")
	}
	reachable = v1alpha1.Reachable(fmt.Sprintf("%s answers.", seen.Endpoint))
	if seen.Health != nil {
		return reachable, v1alpha1.NotReady(v1alpha1.ReasonUnhealthy, Unhealthy(seen.Health))
	}
	return reachable, v1alpha1.Ready("It answers and says that it is ready.")
}

// whyNot finds the reason of a failed request.
func whyNot(seen Observation) (reason, message string) {
	if answer, ok := errors.AsType[*HTTPError](seen.Err); ok {
		switch answer.Status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return v1alpha1.ReasonRefused, fmt.Sprintf("%s does not accept the credentials (HTTP %d): put valid ones into the Secret.", seen.Endpoint, answer.Status)
		}
		return v1alpha1.ReasonNotAnswering, fmt.Sprintf("%s answers with HTTP %d instead of its version.", seen.Endpoint, answer.Status)
	}
	// crypto/tls reports the other side's alerts so: our certificate did not pass.
	var alert *net.OpError
	if errors.As(seen.Err, &alert) && alert.Op == "remote error" {
		return v1alpha1.ReasonRefused, fmt.Sprintf("%s does not accept the client certificate (%s): put a valid one into the Secret.", seen.Endpoint, alert.Err)
	}
	if problem := certificateProblem(seen.Err); problem != "" {
		return v1alpha1.ReasonNotTrusted, fmt.Sprintf("The serving certificate of %s %s: correct the CA in the Secret, or the certificate.", seen.Endpoint, problem)
	}
	switch {
	case errors.Is(seen.Err, connection.ErrAddress):
		return v1alpha1.ReasonAddressNotPermitted, fmt.Sprintf("%s is not connected to, because %s: an administrator of Kairship opens ranges with --open-address-ranges.", seen.Endpoint, connection.ErrAddress)
	case errors.Is(seen.Err, errNotKubernetes):
		return v1alpha1.ReasonNotAnswering, fmt.Sprintf("%s does not answer: %s.", seen.Endpoint, errNotKubernetes)
	}
	return v1alpha1.ReasonNotAnswering, fmt.Sprintf("%s does not answer within %s: see whether its name, address and port are right, whether it runs, and whether Kairship may connect to it.", seen.Endpoint, seen.Timeout)
}

// certificateProblem is what is wrong with the serving certificate; empty when
// that was not the problem.
func certificateProblem(err error) string {
	var (
		unknown  x509.UnknownAuthorityError
		wrong    x509.HostnameError
		unusable x509.CertificateInvalidError
		other    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &unknown):
		return "is signed by an unknown authority"
	case errors.As(err, &wrong):
		return fmt.Sprintf("is not for the host %s", wrong.Host)
	case errors.As(err, &unusable) && unusable.Reason == x509.Expired && unusable.Cert != nil:
		return fmt.Sprintf("is valid only from %s to %s", unusable.Cert.NotBefore.UTC().Format("2006-01-02"), unusable.Cert.NotAfter.UTC().Format("2006-01-02"))
	case errors.As(err, &unusable), errors.As(err, &other):
		return "cannot be verified"
	}
	return ""
}

// Unhealthy names the checks of /readyz that fail.
func Unhealthy(err error) string {
	var answer *HTTPError
	if !errors.As(err, &answer) {
		return "It answers, but not to /readyz."
	}
	var failing []string
	for line := range strings.Lines(string(answer.Body)) {
		if check, found := strings.CutPrefix(line, "[-]"); found {
			name, _, _ := strings.Cut(check, " ")
			failing = append(failing, strings.TrimSpace(name))
		}
	}
	if len(failing) == 0 {
		return fmt.Sprintf("It says that it is not ready (HTTP %d).", answer.Status)
	}
	const most = 5
	if len(failing) > most {
		failing = append(failing[:most], "…")
	}
	return fmt.Sprintf("It says that it is not ready; failing checks: %s.", strings.Join(failing, ", "))
}
