package anthropic

import "github.com/graphrun/graphrun/model/wire"

type (
	Config = wire.Config
	Client = wire.Client
)
