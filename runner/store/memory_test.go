package store_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return &store.Memory{} })
}
