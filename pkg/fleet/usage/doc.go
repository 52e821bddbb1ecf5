// Package usage reads how much CPU and memory pods and nodes use.
//
// Which pods and nodes there are, the index says. What they use is read now from the metrics API
// (metrics.k8s.io) of each member cluster: through Karmada's proxy in the instance and as the caller, who
// sees nothing that the instance and the member do not let them read. A list answers for all pods or nodes of a
// member that an operation asks about, so the number of requests does not grow with them: one for each
// member, and one for each of a few namespaces where the member lets the caller read these alone. Nothing is stored,
// and no operation sees what another one has read.
package usage
