package instance

import (
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Process is v1alpha1.ProcessSettings.
type Process struct {
	ExtraArgs []Argument
	Resources *v1alpha1.ComponentResources
}

// Argument is a flag of a component.
type Argument struct {
	Name  string
	Value string
}

// Component is v1alpha1.ComponentSettings.
type Component struct {
	Replicas *int32
	Process
}

// MetricsAdapter is v1alpha1.MetricsAdapterSettings.
type MetricsAdapter struct {
	Enabled  bool
	Replicas *int32
	Process
}

func componentOf(c *v1alpha1.ComponentSettings) *Component {
	if c == nil {
		return nil
	}
	return &Component{Replicas: c.Replicas, Process: processOf(c.ProcessSettings)}
}

func processOf(p v1alpha1.ProcessSettings) Process {
	out := Process{Resources: p.Resources}
	for _, name := range slices.Sorted(maps.Keys(p.ExtraArgs)) {
		out.ExtraArgs = append(out.ExtraArgs, Argument{Name: name, Value: string(p.ExtraArgs[name])})
	}
	return out
}

func (c *Component) settings(field string, arguments *arguments) *v1alpha1.ComponentSettings {
	if c == nil {
		return nil
	}
	return &v1alpha1.ComponentSettings{Replicas: c.Replicas, ProcessSettings: arguments.of(field, c.Process)}
}

// arguments converts those of one component after another and keeps the first error.
type arguments struct {
	argument string
	err      error
}

func (a *arguments) of(field string, p Process) v1alpha1.ProcessSettings {
	out := v1alpha1.ProcessSettings{Resources: p.Resources}
	for _, arg := range p.ExtraArgs {
		if _, twice := out.ExtraArgs[arg.Name]; twice && a.err == nil {
			a.err = apierror.Invalid(a.argument+"."+field+".extraArgs", "flag %q is there twice", arg.Name)
		}
		if out.ExtraArgs == nil {
			out.ExtraArgs = map[string]v1alpha1.ArgumentValue{}
		}
		out.ExtraArgs[arg.Name] = v1alpha1.ArgumentValue(arg.Value)
	}
	return out
}
