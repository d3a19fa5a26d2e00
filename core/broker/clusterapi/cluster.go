package clusterapi

import (
	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/meta"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster answers who belongs to the cluster.
type Cluster struct {
	Node      kafka.NodeID
	ClusterID string
	Image     func() *meta.Image
}

// authorizedCluster is every operation on a cluster: the default authorizer
// allows everything (KIP-430).
const authorizedCluster = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12

// endpointBroker is the type of endpoint that this listener has (KIP-919).
const endpointBroker = 1

// DescribeCluster answers brokers, controller and cluster id (KIP-700).
func (c *Cluster) DescribeCluster(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType, resp.ControllerID = endpointBroker, kafka.NoNode
	resp.ClusterAuthorizedOperations = kafka.NoAuthorizedOperations
	if req.Version >= 1 && req.EndpointType != endpointBroker {
		resp.ErrorCode = int16(endpointCode(req.EndpointType))
		resp.ErrorMessage = kmsg.StringPtr("this listener is for clients of brokers")
		return rq.Reply(resp)
	}
	resp.ClusterID, resp.ControllerID = c.ClusterID, c.Node
	for _, b := range c.Image().Brokers() {
		out := kmsg.NewDescribeClusterResponseBroker()
		e := b.Endpoint(rq.Session.Listener)
		out.NodeID, out.Host, out.Port = b.ID, e.Host, int32(e.Port)
		if b.Rack != "" {
			out.Rack = kmsg.StringPtr(b.Rack)
		}
		resp.Brokers = append(resp.Brokers, out)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = authorizedCluster
	}
	return rq.Reply(resp)
}

func endpointCode(kind int8) kafka.ErrorCode {
	const controllers = 2
	if kind == controllers {
		return kafka.ErrMismatchedEndpointType
	}
	return kafka.ErrUnsupportedEndpointType
}
