// Package extraargs decides which flags of its components an Instance may set.
//
// A flag runs with the credentials of the control plane on the host cluster, so only those are permitted that are known to
// tune a component: amounts, times and logs. Every other flag is refused, those of later versions too.
package extraargs

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Component is a component by its field in v1alpha1.InstanceComponents.
type Component string

// The components that take flags.
const (
	APIServer             Component = "apiServer"
	AggregatedAPIServer   Component = "aggregatedAPIServer"
	KubeControllerManager Component = "kubeControllerManager"
	ControllerManager     Component = "controllerManager"
	Scheduler             Component = "scheduler"
	Webhook               Component = "webhook"
	Descheduler           Component = "descheduler"
	MetricsAdapter        Component = "metricsAdapter"
)

// Refusal is a flag that an Instance may not set.
type Refusal struct {
	Component Component
	// Message says which flag it is and why it is refused, for a person.
	Message string
}

// Refused returns the first flag of components that an Instance may not set; nil for none.
func Refused(components *v1alpha1.InstanceComponents) *Refusal {
	arguments := argumentsOf(components)
	for _, component := range slices.Sorted(maps.Keys(arguments)) {
		for _, flag := range slices.Sorted(maps.Keys(arguments[component])) {
			if reason := refusal(component, flag); reason != "" {
				return &Refusal{component, fmt.Sprintf("the flag %q can't be set: %s", flag, reason)}
			}
		}
	}
	return nil
}

// refusal returns why a flag of a component may not be set; empty when it may.
func refusal(component Component, flag string) string {
	if slices.Contains(permitted[component], flag) {
		return ""
	}
	if setting, has := settings[component][flag]; has {
		return "components." + setting + " sets it"
	}
	for _, family := range families {
		for _, pattern := range family.flags {
			if matched, _ := path.Match(pattern, flag); matched {
				return family.reason
			}
		}
	}
	return fmt.Sprintf("it is none of those that only tune %s", component)
}

func argumentsOf(c *v1alpha1.InstanceComponents) map[Component]map[string]v1alpha1.ArgumentValue {
	out := map[Component]map[string]v1alpha1.ArgumentValue{}
	if c == nil {
		return out
	}
	for component, settings := range map[Component]*v1alpha1.ComponentSettings{
		AggregatedAPIServer: c.AggregatedAPIServer, KubeControllerManager: c.KubeControllerManager, ControllerManager: c.ControllerManager,
		Scheduler: c.Scheduler, Webhook: c.Webhook,
	} {
		if settings != nil {
			out[component] = settings.ExtraArgs
		}
	}
	if c.APIServer != nil {
		out[APIServer] = c.APIServer.ExtraArgs
	}
	if c.Descheduler != nil {
		out[Descheduler] = c.Descheduler.ExtraArgs
	}
	if c.MetricsAdapter != nil {
		out[MetricsAdapter] = c.MetricsAdapter.ExtraArgs
	}
	return out
}
