package main

// answer is what both sides make of the job: the page as a dashboard would show
// it. That both make the same is checked before anything is measured.
type answer []row

// row is one workload.
type row struct {
	Namespace, Name string
	// Policy and Clusters are the claim and the schedule; empty where no policy
	// claims the workload.
	Policy     string
	Clusters   []string
	Desired    int
	Ready      int
	Placements []placement
}

// placement is the workload in one member cluster.
type placement struct {
	Cluster        string
	Desired, Ready int
	Healthy        bool
	// Object is the member's own.
	Object memberObject
}

type memberObject struct {
	Name, UID string
	Images    []string
}
