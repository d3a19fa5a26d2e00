// Package topicapi answers the requests about topics: Metadata,
// DescribeTopicPartitions, CreateTopics, DeleteTopics, CreatePartitions.
//
// It owns the translation between these APIs and the controller's requests,
// and what differs from version to version. It never decides whether a topic may
// be made or removed (package controller does) and opens no partition. Caller:
// the connections of package serve.
package topicapi

import (
	"trialog/core/config"
	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// Controller is where the metadata comes from and where changes go.
type Controller interface {
	// Image is the committed metadata; it never changes.
	Image() *meta.Image
	// Submit returns when the decision is durable and applied on this broker.
	Submit(controller.Request) (controller.Response, error)
}

// API answers requests about topics.
type API struct {
	Config     func() *config.Broker // as it is now
	ClusterID  string
	Controller Controller
	NewTopicID func() kafka.TopicID
	// Leads reports that this broker has the partition open and leads it; asked only of those that the image gives to it.
	Leads func(topic kafka.TopicID, i kafka.PartitionID) bool
}

// Memory of what an answer says, for the budget.
const (
	partitionBytes = 256      // of one partition of a topic
	createdBytes   = 16 << 10 // of one topic that was made, with all its settings
)

// authorizedTopic and authorizedCluster are the operations of KIP-430 that the
// default authorizer, which allows everything, answers: one bit for each.
const (
	authorizedTopic   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	authorizedCluster = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)
