// Package podlog reads the logs of the containers of pods.
//
// The index has which pods there are, as far as the caller may see them. Their lines are read from
// the member clusters: through Karmada's proxy in the instance, and as the caller. So the instance
// decides whether the caller may reach the member (clusters/proxy), and the member whether they may
// read there (pods/log). Nothing is stored.
package podlog
