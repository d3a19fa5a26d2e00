// Package clusterapi answers the requests that concern the broker or the cluster
// as a whole: ApiVersions, DescribeCluster, InitProducerId.
//
// It owns the rules of version negotiation (KIP-511) and this broker's block of
// producer ids. It never decides which ids are in a block (package controller
// does). Caller: the connections of package serve.
package clusterapi
