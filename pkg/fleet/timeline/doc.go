// Package timeline answers queries about what changed, and when: of workloads, member clusters, policies and
// instances, from the history that the projector keeps in the index's database. It is no library for other
// modules.
package timeline
