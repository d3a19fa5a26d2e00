package meta

func (*RegisterBroker) Type() Type { return TypeRegisterBroker }
func (*Topic) Type() Type          { return TypeTopic }
func (*Partition) Type() Type      { return TypePartition }
func (*Config) Type() Type         { return TypeConfig }
func (*RemoveTopic) Type() Type    { return TypeRemoveTopic }
func (*FeatureLevel) Type() Type   { return TypeFeatureLevel }
func (*ProducerIDs) Type() Type    { return TypeProducerIDs }

func (*RegisterBroker) AppendBody(b []byte) []byte { panic("meta") }
func (*Topic) AppendBody(b []byte) []byte          { panic("meta") }
func (*Partition) AppendBody(b []byte) []byte      { panic("meta") }
func (*Config) AppendBody(b []byte) []byte         { panic("meta") }
func (*RemoveTopic) AppendBody(b []byte) []byte    { panic("meta") }
func (*FeatureLevel) AppendBody(b []byte) []byte   { panic("meta") }
func (*ProducerIDs) AppendBody(b []byte) []byte    { panic("meta") }

func (*RegisterBroker) String() string { panic("meta") }
func (*Topic) String() string          { panic("meta") }
func (*Partition) String() string      { panic("meta") }
func (*Config) String() string         { panic("meta") }
func (*RemoveTopic) String() string    { panic("meta") }
func (*FeatureLevel) String() string   { panic("meta") }
func (*ProducerIDs) String() string    { panic("meta") }

func (*RegisterBroker) parseBody(r *reader) { panic("meta") }
func (*Topic) parseBody(r *reader)          { panic("meta") }
func (*Partition) parseBody(r *reader)      { panic("meta") }
func (*Config) parseBody(r *reader)         { panic("meta") }
func (*RemoveTopic) parseBody(r *reader)    { panic("meta") }
func (*FeatureLevel) parseBody(r *reader)   { panic("meta") }
func (*ProducerIDs) parseBody(r *reader)    { panic("meta") }
