// Package groupapi answers the requests about consumer groups: FindCoordinator
// and ListGroups.
//
// It owns the answers of a broker that coordinates nothing yet: there are no
// groups, and no coordinator is available, which clients retry. It stores
// nothing. Caller: the connections of package serve.
package groupapi
