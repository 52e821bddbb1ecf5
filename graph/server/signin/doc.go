// Package signin signs people in at an OpenID Connect provider, for the pages that the API server serves.
//
// The browser never has a token: the provider's tokens are sealed into a cookie that no script reads, with a key
// that all replicas share, and no replica remembers anything. A page of this origin calls /graphql with that
// cookie, and the request goes on with the ID token in its Authorization header, as if the page had sent it: the
// global cluster, which trusts the same provider, decides whose it is, and what refuses a token refuses it here too.
//
// A page renews its session itself, before the ID token ends. A provider may take a refresh token once alone, and
// only the page knows of its other tabs.
package signin
