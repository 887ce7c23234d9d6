// Command devserver is a Temporal server with SQLite for tests and for trying
// things: one process, on this machine only. It prints its address when it is ready.
package main

import (
	"errors"
	"flag"
	"fmt"
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
	db := flag.String("db", "", "`FILE` that the server keeps its data in (default: memory)")
	port := flag.Int("port", 0, "`PORT` to listen on (default: a free one)")
	namespaces := flag.String("namespaces", "default", "`NAMES` of the namespaces, with commas between them")
	flag.Parse()
	if err := run(*db, *port, strings.Split(*namespaces, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "devserver: "+err.Error())
		os.Exit(1)
	}
}

func run(db string, port int, namespaces []string) error {
	cfg, err := configure(db, port)
	if err != nil {
		return err
	}
	store := cfg.Persistence.DataStores[plugin.PluginName].SQL
	if db != "" {
		if err := prepare(store, db); err != nil {
			return err
		}
	}
	for _, name := range namespaces {
		ns, err := sqlite.NewNamespaceConfig(cfg.ClusterMetadata.CurrentClusterName, name, false, nil)
		if err != nil {
			return err
		}
		if err := sqlite.CreateNamespaces(store, ns); err != nil {
			return err
		}
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithDynamicConfigClient(settings()),
	)
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	address := cfg.PublicClient.HostPort
	if err := reachable(address); err != nil {
		return err
	}
	fmt.Println(address)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	return server.Stop()
}

// prepare makes the database ready: a new one gets its tables, and one that a killed
// server left forgets it, or this one would ask it for a minute.
func prepare(cfg *config.SQL, file string) error {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return sqlite.SetupSchema(cfg)
	}
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return err
	}
	return errors.Join(db.Exec("DELETE FROM cluster_membership"), db.Close())
}

// settings are those of a server that is in nobody's way.
func settings() dynamicconfig.StaticClient {
	to := func(value any) []dynamicconfig.ConstrainedValue {
		return []dynamicconfig.ConstrainedValue{{Value: value}}
	}
	return dynamicconfig.StaticClient{
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): to(true),
		// A shard hands out what it has 20 times a second, and each step of a run takes two
		// times. A cluster has hundreds of shards; this server has one for all runs.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): to(1000),
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    to(1000),
		// A timer is never set nearer than this, for hosts whose clocks differ; here is one.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): to(10 * time.Millisecond),
		// Of a workflow to which more comes than this while it decides, the decision is taken
		// back, and its history read again; so even more has come by the next one.
		dynamicconfig.MaximumBufferedEventsBatch.Key(): to(5000),
	}
}

// reachable waits until somebody listens.
func reachable(address string) error {
	for end := time.Now().Add(time.Minute); ; {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// configure is the configuration of a server with all services in one process.
func configure(db string, port int) (*config.Config, error) {
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	if port == 0 {
		port = ports[7]
	}
	sql := config.SQL{PluginName: plugin.PluginName, DatabaseName: db, ConnectAttributes: map[string]string{"mode": "rwc"}}
	if db == "" {
		sql.DatabaseName = fmt.Sprintf("memory-%d", os.Getpid())
		sql.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	} else {
		sql.ConnectAttributes["_journal_mode"] = "wal"
		sql.ConnectAttributes["_synchronous"] = "2"
	}
	address := fmt.Sprintf("%s:%d", host, port)
	service := func(grpc, membership int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: grpc, MembershipPort: membership, BindOnIP: host}}
	}
	off := "disabled"
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host},
		},
		Persistence: config.Persistence{
			DefaultStore: plugin.PluginName, VisibilityStore: plugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{plugin.PluginName: {SQL: &sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(port, ports[0]), "history": service(ports[1], ports[2]),
			"matching": service(ports[3], ports[4]), "worker": service(ports[5], ports[6]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: off},
			Visibility: config.VisibilityArchival{State: off},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: off},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: off},
		}},
		PublicClient: config.PublicClient{HostPort: address},
	}, nil
}

// freePorts are ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
