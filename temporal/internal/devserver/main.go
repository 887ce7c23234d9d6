// Command devserver is a Temporal server with SQLite for tests and experiments. It is one process
// that serves this machine only. It prints its address when it is ready.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	plugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const host = "127.0.0.1"

func main() {
	db := flag.String("db", "", "`FILE` for the data of the server (default: memory)")
	port := flag.Int("port", 0, "`PORT` to listen on (default: a free one)")
	namespaces := flag.String("namespaces", "default", "`NAMES` of the namespaces, separated by commas")
	flag.Parse()
	if err := runServer(*db, *port, strings.Split(*namespaces, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "devserver: "+err.Error())
		os.Exit(1)
	}
}

func runServer(db string, port int, namespaces []string) error {
	cfg := newConfig(db, port)
	store := cfg.Persistence.DataStores[plugin.PluginName].SQL
	if db != "" {
		if err := prepareDatabase(store, db); err != nil {
			return err
		}
	}
	for _, name := range namespaces {
		ns, err := sqlite.NewNamespaceConfig(cfg.ClusterMetadata.CurrentClusterName, name, false, nil)
		if err == nil {
			err = sqlite.CreateNamespaces(store, ns)
		}
		if err != nil {
			return err
		}
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()), temporal.WithDynamicConfigClient(settings),
	)
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return err
	}
	fmt.Println(cfg.PublicClient.HostPort) // the address on which it listens
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	return server.Stop()
}

// prepareDatabase creates the tables of a new database. From an existing one, it deletes the entry of
// a killed server, which this server would try to reach.
func prepareDatabase(cfg *config.SQL, file string) error {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return sqlite.SetupSchema(cfg)
	}
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return err
	}
	return errors.Join(db.Exec("DELETE FROM cluster_membership"), db.Close())
}

// settings are the dynamic settings.
var settings = dynamicconfig.StaticClient{
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
	// A shard dispatches 20 tasks a second, and a step needs two. A cluster has hundreds of
	// shards, this server one.
	dynamicconfig.TransferProcessorMaxPollRPS.Key(): 1000,
	dynamicconfig.TimerProcessorMaxPollRPS.Key():    1000,
	// Timers are late by this much, for hosts whose clocks differ.
	dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,
	// If more events arrive while a workflow decides, the decision is discarded.
	dynamicconfig.MaximumBufferedEventsBatch.Key(): 5000,
}

// newConfig returns the configuration of a server with all services in one process.
func newConfig(db string, port int) *config.Config {
	sql := config.SQL{PluginName: plugin.PluginName, DatabaseName: db, ConnectAttributes: map[string]string{"mode": "rwc"}}
	if db == "" {
		sql.DatabaseName = fmt.Sprintf("memory-%d", os.Getpid())
		sql.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	} else {
		sql.ConnectAttributes["_journal_mode"] = "wal"
		sql.ConnectAttributes["_synchronous"] = "2"
	}
	services := map[string]config.Service{}
	for _, name := range temporal.DefaultServices {
		services[name] = config.Service{RPC: config.RPC{GRPCPort: freePort(), MembershipPort: freePort(), BindOnIP: host}}
	}
	frontend := services["frontend"]
	frontend.RPC.GRPCPort = cmp.Or(port, frontend.RPC.GRPCPort)
	services["frontend"] = frontend
	address := fmt.Sprintf("%s:%d", host, frontend.RPC.GRPCPort)
	const off = "disabled"
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host}},
		Persistence: config.Persistence{
			DefaultStore: plugin.PluginName, VisibilityStore: plugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{plugin.PluginName: {SQL: &sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}},
		},
		Services: services,
		Archival: config.Archival{History: config.HistoryArchival{State: off}, Visibility: config.VisibilityArchival{State: off}},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: off}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: off},
		}},
		PublicClient: config.PublicClient{HostPort: address},
	}
}

// freePort returns a free port, or 0, which no service can use. It avoids ports that systems give
// to clients: one could be taken before the service listens.
func freePort() int {
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	return 0
}
