// Module crds pins where the chart's tests find the custom resource definitions of what
// the chart may make objects for. Nothing is built from it.
module github.com/kairship-io/kairship/tools/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.19.1
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.4.0
)
