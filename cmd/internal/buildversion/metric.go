package buildversion

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric says which build a program is, as a series that is always 1: during a rollout
// there are two.
func Metric(program, version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kairship_build_info",
		Help: "Always 1; its labels say which build of which program this is.",
		ConstLabels: prometheus.Labels{
			"program": program, "version": version, "goversion": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		},
	}, func() float64 { return 1 })
}
