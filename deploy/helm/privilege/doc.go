// Package privilege judges from the audit log of the global cluster's API server
// whether the roles that the chart gives to Kairship's programs suffice, and whether
// each of them is needed.
//
// The API server writes into each line by which role it allowed a request, so a right
// is known to have been used even where another role has it too. What the programs send
// as another user is that person's; of these lines only the impersonation is theirs.
package privilege
