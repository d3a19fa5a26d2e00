package controller

import (
	"fmt"
	"slices"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// Names of features.
const (
	metadataVersion = "metadata.version"
	elrVersion      = "eligible.leader.replicas.version"
)

// UpgradeType is what an update of a feature may do, with Kafka's numbers (KIP-778).
type UpgradeType int8

// Types of updates.
const (
	Upgrade         UpgradeType = 1
	SafeDowngrade   UpgradeType = 2
	UnsafeDowngrade UpgradeType = 3
)

// FeatureUpdate is the level that a feature is to have; 0 switches it off.
type FeatureUpdate struct {
	Name  string
	Level int16
	Type  UpgradeType
}

// UpdateFeatures sets levels of features, all of them or none (KIP-584, KIP-1022).
type UpdateFeatures struct {
	Updates      []FeatureUpdate
	ValidateOnly bool
}

// UpdateFeaturesResponse has the first refusal.
type UpdateFeaturesResponse struct {
	Code    kafka.ErrorCode
	Message string // "" with NONE
}

func (*UpdateFeatures) isRequest()          {}
func (*UpdateFeaturesResponse) isResponse() {}

func (c *Controller) updateFeatures(req *UpdateFeatures) (*UpdateFeaturesResponse, []meta.Record) {
	var records []meta.Record
	elr := false
	for i := range req.Updates {
		u := &req.Updates[i]
		if why := c.checkUpdate(u, req.Updates); why != "" {
			message := fmt.Sprintf("Invalid update version %d for feature %s. %s", u.Level, u.Name, why)
			return &UpdateFeaturesResponse{Code: kafka.ErrInvalidUpdateVersion, Message: message}, nil
		}
		if u.Level != c.speculative.FeatureLevel(u.Name) {
			records = append(records, &meta.FeatureLevel{Name: u.Name, Level: u.Level})
		}
		elr = elr || u.Name == elrVersion && u.Level > 0
	}
	if req.ValidateOnly {
		return &UpdateFeaturesResponse{}, nil
	}
	if elr {
		records = append(c.agreeOnMinISR(), records...)
	}
	before := c.minISRs()
	records = append(c.decide(records...), c.forgetEligible()...)
	return &UpdateFeaturesResponse{}, append(records, c.settleMinISR(before)...)
}

// checkUpdate is why an update is refused, in the order in which Kafka checks; "" if it is not.
func (c *Controller) checkUpdate(u *FeatureUpdate, all []FeatureUpdate) string {
	now := c.speculative.FeatureLevel(u.Name)
	switch {
	case u.Type < Upgrade || u.Type > UnsafeDowngrade:
		return "The controller does not support the given upgrade type."
	case u.Level < 0:
		return "A feature version cannot be less than 0."
	}
	if why := unsupported(c.cfg.Features, u, fmt.Sprintf("Local controller %d", c.cfg.Node)); why != "" {
		return why
	}
	for _, b := range c.speculative.Brokers() {
		if b.Features == nil {
			continue // of the same program
		}
		if why := unsupported(b.Features, u, fmt.Sprintf("Broker %d", b.ID)); why != "" {
			return why
		}
	}
	switch {
	case u.Level < now && u.Type == Upgrade:
		return "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
	case u.Level > now && u.Type != Upgrade:
		return "Can't downgrade to a newer version."
	case u.Name == metadataVersion && u.Level < now && u.Type == UnsafeDowngrade:
		return "Unsafe metadata downgrade is not supported in this version."
	case u.Name == metadataVersion && u.Level < now:
		return "Refusing to perform the requested downgrade because it might delete metadata information."
	}
	return c.depends(u, all)
}

// unsupported is why a level cannot be set as far as one process is concerned. A feature that it does not name it supports
// at level 0 alone.
func unsupported(features []meta.Feature, u *FeatureUpdate, who string) string {
	var f meta.Feature
	if i := slices.IndexFunc(features, func(f meta.Feature) bool { return f.Name == u.Name }); i >= 0 {
		f = features[i]
	}
	switch {
	case u.Level >= f.Min && u.Level <= f.Max:
		return ""
	case f.Max == 0:
		return who + " does not support this feature."
	case f.Min == f.Max:
		return fmt.Sprintf("%s only supports versions %d", who, f.Min)
	}
	return fmt.Sprintf("%s only supports versions %d-%d", who, f.Min, f.Max)
}

// depends: every feature needs the first metadata.version that Kafka 4 knows, which the same request may set.
func (c *Controller) depends(u *FeatureUpdate, all []FeatureUpdate) string {
	const oldest = 7
	level := c.speculative.FeatureLevel(metadataVersion)
	for _, o := range all {
		if o.Name == metadataVersion {
			level = o.Level
		}
	}
	if u.Name == metadataVersion || u.Level == 0 || level >= oldest {
		return ""
	}
	return fmt.Sprintf("%s could not be set to %d because it depends on metadata.version=%d (3.3-IV3)", u.Name, u.Level, oldest)
}

// supportsLevels: a broker can work with every level that is in force. One that does not name metadata.version knows its
// first level alone.
func (c *Controller) supportsLevels(features []meta.Feature) bool {
	within := func(name string, level int16) bool {
		i := slices.IndexFunc(features, func(f meta.Feature) bool { return f.Name == name })
		switch {
		case i >= 0:
			return level >= features[i].Min && level <= features[i].Max
		case name == metadataVersion:
			return level == 1
		}
		return level == 0
	}
	for _, f := range c.speculative.Features() {
		if !within(f.Name, f.Level) {
			return false
		}
	}
	for _, f := range features {
		level := c.speculative.FeatureLevel(f.Name)
		if f.Name == metadataVersion {
			level = max(level, 1)
		}
		if !within(f.Name, level) {
			return false
		}
	}
	return true
}
