package model

// Entity is something that other subgraphs of a supergraph can refer to. What has a
// key has an ID too, so it is a Node.
type Entity interface { //nolint:iface // The generator binds it while Node, which it makes, is not there.
	IsNode()
}

// Subgraph is what a supergraph is composed of.
type Subgraph struct {
	SDL string
}
