package responses

import "github.com/graphrun/graphrun/model/wire"

type (
	Config = wire.Config
	Client = wire.Client
)

func New(c Config) (*Client, error) { return wire.New(&Protocol, c) }
