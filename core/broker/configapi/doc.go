// Package configapi answers the requests about settings: DescribeConfigs,
// AlterConfigs, IncrementalAlterConfigs.
//
// It owns the translation between these APIs and the table of package config, and
// the rule that a broker answers for itself alone. It never decides whether a
// change is allowed (package controller does), and puts none into effect: package
// broker does when the change is committed. Caller: the connections of package
// serve.
package configapi

import (
	"fmt"
	"strconv"

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

// API answers requests about settings.
type API struct {
	Config     func() *config.Broker // as it is now
	Controller Controller
}

// Types of resources beside those that package meta stores, with Kafka's numbers.
const (
	resourceLogger        = 8
	resourceClientMetrics = 16
	resourceGroup         = 32
)

// checkNode refuses the settings of another broker. noun and expected are Kafka's
// words for the id and for what comes after the one that is expected.
func (a *API) checkNode(name, noun, expected string) (kafka.ErrorCode, string) {
	node := a.Config().NodeID
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return kafka.ErrInvalidRequest, fmt.Sprintf("%s id must be an integer, but it is: %s", noun, name)
	}
	if kafka.NodeID(id) != node {
		return kafka.ErrInvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d%s but received %s", node, expected, name)
	}
	return kafka.ErrNone, ""
}
