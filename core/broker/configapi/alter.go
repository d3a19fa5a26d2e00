package configapi

import (
	"trialog/core/broker/serve"
	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterConfigs replaces all settings of resources; the answer leaves when that is
// durable and in force on this broker.
func (a *API) AlterConfigs(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.AlterConfigsRequest)
	if err := rq.ChargeEntries(len(req.Resources)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	alter := &controller.AlterConfigs{ValidateOnly: req.ValidateOnly}
	for i := range req.Resources {
		rr := &req.Resources[i]
		r := controller.AlterResource{Resource: controller.Resource{Type: int8(rr.ResourceType), Name: rr.ResourceName}}
		for j := range rr.Configs {
			r.Changes = append(r.Changes, change(rr.Configs[j].Name, controller.ConfigSet, rr.Configs[j].Value))
		}
		alter.Resources = append(alter.Resources, r)
	}
	for _, r := range a.alter(rq, alter) {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = kmsg.ConfigResourceType(r.Type), r.Name
		out.ErrorCode, out.ErrorMessage = outcome(r)
		resp.Resources = append(resp.Resources, out)
	}
	return rq.Reply(resp)
}

// IncrementalAlterConfigs changes single settings of resources (KIP-339); the
// answer leaves when that is durable and in force on this broker.
func (a *API) IncrementalAlterConfigs(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.IncrementalAlterConfigsRequest)
	if err := rq.ChargeEntries(len(req.Resources)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	alter := &controller.AlterConfigs{Incremental: true, ValidateOnly: req.ValidateOnly}
	for i := range req.Resources {
		rr := &req.Resources[i]
		r := controller.AlterResource{Resource: controller.Resource{Type: int8(rr.ResourceType), Name: rr.ResourceName}}
		for j := range rr.Configs {
			r.Changes = append(r.Changes, change(rr.Configs[j].Name, controller.ConfigOp(rr.Configs[j].Op), rr.Configs[j].Value))
		}
		alter.Resources = append(alter.Resources, r)
	}
	for _, r := range a.alter(rq, alter) {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = kmsg.ConfigResourceType(r.Type), r.Name
		out.ErrorCode, out.ErrorMessage = outcome(r)
		resp.Resources = append(resp.Resources, out)
	}
	return rq.Reply(resp)
}

func change(name string, op controller.ConfigOp, value *string) controller.ConfigChange {
	c := controller.ConfigChange{Name: name, Op: op, Null: value == nil}
	if value != nil {
		c.Value = *value
	}
	return c
}

func outcome(r controller.AlteredResource) (int16, *string) {
	if r.Code == kafka.ErrNone {
		return 0, nil
	}
	message := r.Message
	if message == "" {
		message = r.Code.Error()
	}
	return int16(r.Code), &message
}

// alter asks the controller about what this broker may be asked, and answers for
// the rest: one outcome for each resource, in order.
func (a *API) alter(rq *serve.Request, req *controller.AlterConfigs) []controller.AlteredResource {
	out := make([]controller.AlteredResource, len(req.Resources))
	ask := &controller.AlterConfigs{Incremental: req.Incremental, ValidateOnly: req.ValidateOnly}
	var at []int
	for i := range req.Resources {
		r := &req.Resources[i]
		out[i].Resource = r.Resource
		if r.Type == meta.ResourceBroker && r.Name != "" {
			if out[i].Code, out[i].Message = a.checkNode(r.Name, "Node", ","); out[i].Code != kafka.ErrNone {
				continue
			}
		}
		ask.Resources = append(ask.Resources, *r)
		at = append(at, i)
	}
	answer, err := a.Controller.Submit(ask)
	if err != nil {
		rq.Log.Error("settings were not changed", "err", err)
	}
	for j, i := range at {
		if err != nil {
			out[i].Code, out[i].Message = kafka.ErrKafkaStorageError, err.Error()
		} else {
			out[i] = answer.(*controller.AlterConfigsResponse).Resources[j]
		}
	}
	return out
}
