package index

import "slices"

// Scope is the part of a cluster that a query is confined to. Exactly one of
// EveryNamespace, Namespaces and Names says what is in it; a scope that says
// nothing holds nothing.
type Scope struct {
	Cluster string
	// EveryNamespace: the objects that have a namespace.
	EveryNamespace bool
	// Namespaces: the objects in these.
	Namespaces []string
	// Names: the objects without namespace that have these names, as the Namespace
	// objects themselves do.
	Names []string
	// SentBy restricts the scope of a member cluster to the namespaces of which a workload of
	// this instance was sent to the cluster; empty for no restriction. The projection knows
	// these, so a Client refuses such a scope.
	SentBy string
}

// Holds reports whether an object, of whatever cluster, is in the scope.
func (s Scope) Holds(o *Object) bool {
	switch {
	case o.Cluster != s.Cluster:
		return false
	case o.Meta.Namespace == "":
		return slices.Contains(s.Names, o.Meta.Name)
	}
	return s.EveryNamespace || slices.Contains(s.Namespaces, o.Meta.Namespace)
}

// empty reports whether nothing is in the scope.
func (s Scope) empty() bool {
	return !s.EveryNamespace && len(s.Namespaces) == 0 && len(s.Names) == 0
}

// sameAs reports whether the scopes are alike but for their clusters.
func (s Scope) sameAs(o Scope) bool {
	return s.EveryNamespace == o.EveryNamespace && slices.Equal(s.Namespaces, o.Namespaces) && slices.Equal(s.Names, o.Names) && s.SentBy == o.SentBy
}

// unanswerable returns the error of a query that only the projection can answer, or only with it.
func (q ListQuery) unanswerable() error {
	switch {
	case q.Projected != nil:
		return errProjected
	case slices.ContainsFunc(q.Scopes, func(s Scope) bool { return s.SentBy != "" }):
		return errSentBy
	}
	return nil
}

// nothing reports whether the query can match no object.
func (q ListQuery) nothing() bool {
	return len(q.Types) == 0 || (len(q.Clusters) == 0 && !slices.ContainsFunc(q.Scopes, func(s Scope) bool { return !s.empty() }))
}

// concerned are all clusters that the query lists from, in whole or in part.
func (q ListQuery) concerned() []string {
	if len(q.Scopes) == 0 {
		return q.Clusters
	}
	clusters := slices.Clone(q.Clusters)
	for _, s := range q.Scopes {
		clusters = append(clusters, s.Cluster)
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// reaches reports whether the clusters and scopes of the query hold an object.
func (q ListQuery) reaches(o *Object) bool {
	return slices.Contains(q.Clusters, o.Cluster) || slices.ContainsFunc(q.Scopes, func(s Scope) bool { return s.Holds(o) })
}

// in is the query confined to some clusters: to its scope in those that have
// one, to the whole of the others.
func (q ListQuery) in(clusters ...string) ListQuery {
	scopes := q.Scopes
	q.Clusters, q.Scopes = nil, nil
	for _, cluster := range clusters {
		i := slices.IndexFunc(scopes, func(s Scope) bool { return s.Cluster == cluster })
		if i < 0 {
			q.Clusters = append(q.Clusters, cluster)
			continue
		}
		q.Scopes = append(q.Scopes, scopes[i])
	}
	return q
}

// simplified says the same with fewer scopes where it can: scopes that are all
// alike are what Clusters and Namespaces can say. That is the usual case.
func (q ListQuery) simplified() ListQuery {
	if len(q.Scopes) == 0 || len(q.Clusters) > 0 {
		return q
	}
	first := q.Scopes[0]
	if len(first.Namespaces) == 0 || len(first.Names) > 0 || first.EveryNamespace {
		return q
	}
	for _, s := range q.Scopes[1:] {
		if !s.sameAs(first) {
			return q
		}
	}
	namespaces := first.Namespaces
	if len(q.Namespaces) > 0 {
		namespaces = slices.DeleteFunc(slices.Clone(namespaces), func(n string) bool { return !slices.Contains(q.Namespaces, n) })
	}
	if len(namespaces) == 0 {
		// Without namespaces, the clusters would be listed whole.
		q.Scopes = nil
		return q
	}
	q.Clusters, q.Namespaces, q.Scopes = q.concerned(), namespaces, nil
	return q
}

// reach adds the condition that a row is in the clusters and scopes of the query.
func (d *dialect) reach(c *clause, q *ListQuery) {
	if len(q.Scopes) == 0 {
		c.and(sqlClusters, q.Clusters)
		return
	}
	var every []string
	var namespaces, names [][2]string
	for _, s := range q.Scopes {
		if s.EveryNamespace {
			every = append(every, s.Cluster)
		}
		for _, namespace := range s.Namespaces {
			namespaces = append(namespaces, [2]string{s.Cluster, namespace})
		}
		for _, name := range s.Names {
			names = append(names, [2]string{s.Cluster, name})
		}
	}
	c.and(sqlOpen)
	empty := c.text.Len()
	or := func() {
		if c.text.Len() > empty {
			c.add(sqlOr)
		}
	}
	if len(q.Clusters) > 0 {
		c.add(sqlClusters, q.Clusters)
	}
	if len(every) > 0 {
		or()
		c.add(sqlEveryNamespace, every)
	}
	if len(namespaces) > 0 {
		or()
		c.pairs(sqlNamespacePairs, namespaces)
	}
	if len(names) > 0 {
		or()
		c.pairs(sqlNamePairs, names)
	}
	if c.text.Len() == empty {
		c.add(sqlNothing)
	}
	c.add(sqlClose)
}

// pairs adds a condition that begins with text and goes on with a list of pairs.
func (c *clause) pairs(text sqlText, pairs [][2]string) {
	c.add(text)
	for i, p := range pairs {
		if i > 0 {
			c.add(sqlComma)
		}
		c.add(sqlPair, p[0], p[1])
	}
	c.add(sqlPairsClose)
}
