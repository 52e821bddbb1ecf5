package whatif

import (
	"strconv"
	"strings"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The settings as bits, which follow the hash of a fingerprint, so that the same report can be computed anew.
const (
	preemptionBit = 1 << iota
	evictionBit
)

// withSettings adds the settings to a hash.
func withSettings(hash string, s Settings) string {
	bits := 0
	if s.PolicyPreemption {
		bits |= preemptionBit
	}
	if s.NoExecuteEviction {
		bits |= evictionBit
	}
	return hash + "-" + strconv.Itoa(bits)
}

// SettingsOf returns the settings of the report with a fingerprint; false for a text that is none.
func SettingsOf(fingerprint string) (Settings, bool) {
	hash, text, _ := strings.Cut(fingerprint, "-")
	bits, err := strconv.Atoi(text)
	if err != nil || len(hash) != 2*hashBytes || bits < 0 || bits > preemptionBit|evictionBit {
		return Settings{}, false
	}
	return Settings{PolicyPreemption: bits&preemptionBit != 0, NoExecuteEviction: bits&evictionBit != 0}, true
}

// NeedsSpec reports whether more than the metadata of templates of a kind matters: for kinds of which Karmada
// reads the replicas.
func NeedsSpec(gvk schema.GroupVersionKind) bool {
	return thirdPartyInterpreter().HookEnabled(gvk, configv1alpha1.InterpreterOperationInterpretReplica) ||
		nativeInterpreter.HookEnabled(gvk, configv1alpha1.InterpreterOperationInterpretReplica)
}
