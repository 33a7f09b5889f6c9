import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { CLUSTER_SERVICES, clusterConfig, dynamicConfig } from '../../src/dev/cluster-config.ts';
import { parseClusterOptions } from '../../src/dev/cluster-options.ts';
import { percentiles } from '../../src/dev/cluster-report.ts';
import { lowPorts } from '../../src/dev/cluster-temporal.ts';
import { resolveClusterPrograms } from '../../src/dev/cluster-binary.ts';
import { useBareMachine } from './bare-machine.ts';

const SETTINGS = {
  database: { port: 20_100, user: 'postgres', password: 'p: "\'#' },
  ports: {
    frontend: { grpc: 20_001, membership: 20_002 },
    history: { grpc: 20_003, membership: 20_004 },
    matching: { grpc: 20_005, membership: 20_006 },
    worker: { grpc: 20_007, membership: 20_008 },
  },
  dynamicConfigFile: '/data/dynamic.yaml',
  historyShards: 16,
};

describe('the configuration of the clustered server', () => {
  const config = parse(clusterConfig(SETTINGS)) as Record<string, unknown>;

  it('is YAML with both databases, whatever stands in the password', () => {
    const server = {
      pluginName: 'postgres12',
      connectAddr: '127.0.0.1:20100',
      user: 'postgres',
      password: 'p: "\'#',
    };
    expect(config['persistence']).toMatchObject({
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 16,
      datastores: {
        default: { sql: { ...server, databaseName: 'temporal' } },
        visibility: { sql: { ...server, databaseName: 'temporal_visibility' } },
      },
    });
  });

  it('has four services on ports of their own, on this machine only, found through the frontend', () => {
    const services = config['services'] as Record<string, { rpc: Record<string, unknown> }>;
    expect(Object.keys(services)).toEqual([...CLUSTER_SERVICES]);
    const used = Object.values(services).flatMap(({ rpc }) => [rpc['grpcPort'], rpc['membershipPort']]);
    expect(new Set(used).size).toBe(8);
    for (const { rpc } of Object.values(services)) expect(rpc['bindOnLocalHost']).toBe(true);
    expect(config['publicClient']).toEqual({ hostPort: '127.0.0.1:20001' });
    expect(config['clusterMetadata']).toMatchObject({
      currentClusterName: 'active',
      clusterInformation: { active: { enabled: true, rpcAddress: '127.0.0.1:20001' } },
    });
  });

  it('archives nothing, and says so: without the block the server does not start', () => {
    for (const kind of ['history', 'visibility']) {
      expect(config['archival']).toHaveProperty([kind, 'state'], 'disabled');
      expect(config['namespaceDefaults']).toHaveProperty(['archival', kind, 'state'], 'disabled');
    }
  });

  it('names the dynamic settings, which are those of the development server', () => {
    expect(config['dynamicConfigClient']).toMatchObject({ filepath: '/data/dynamic.yaml' });
    expect(parse(dynamicConfig())).toMatchObject({
      'history.transferProcessorMaxPollRPS': [{ value: 1_000 }],
      'matching.useNewMatcher': [{ value: true }],
    });
  });
});

it('its ports fit the smallint in which Temporal keeps them', async () => {
  const ports = await lowPorts(8);
  expect(new Set(ports).size).toBe(8);
  for (const port of ports) expect(port).toBeLessThan(32_768);
});

describe('the arguments', () => {
  it('have defaults', () => {
    expect(parseClusterOptions([])).toEqual({ generations: 200, json: false, data: null, help: false });
    expect(parseClusterOptions(['--generations', '8', '--json', '--data', 'x'])).toEqual({
      generations: 8,
      json: true,
      data: 'x',
      help: false,
    });
  });

  it.each([
    [['--generations', '7'], /--generations is 7: it must be a whole number from 8 to 100000/],
    [['--generations', '100001'], /from 8 to 100000/],
    [['--generations', '1e3'], /--generations is 1e3/],
    [['--generations=-5'], /--generations is -5/],
    [['--data', ''], /--data is empty/],
    [['--fast'], /--fast/],
    [['30'], /30/],
  ])('%j is refused', (args, message) => {
    expect(() => parseClusterOptions(args)).toThrow(message);
  });
});

it('percentiles are by the nearest rank', () => {
  expect(percentiles([])).toEqual({ p50: 0, p95: 0, most: 0 });
  expect(percentiles(Array.from({ length: 100 }, (_, at) => 100 - at))).toEqual({
    p50: 50,
    p95: 95,
    most: 100,
  });
});

describe('the programs', () => {
  const machine = useBareMachine('temporal');

  it('in this order: their variables, the PATH, our cache', async () => {
    const { script, environment, lines, say } = machine;
    const cached = [
      script('cache/darkroom/temporal-server-1.28.1', 'server', 'echo'),
      script('cache/darkroom/temporal-sql-tool-1.28.1', 'sql', 'echo'),
    ];
    const [server, sqlTool] = cached;
    expect(await resolveClusterPrograms(environment(), say)).toEqual({ server, sqlTool });
    const onPath = script('bin2', 'temporal-server', 'echo "temporal version 1.28.1"');
    const given = script('own', 'sql-tool', 'echo');
    const own = { PATH: machine.path('bin2'), TEMPORAL_SQL_TOOL_PATH: given };
    expect(await resolveClusterPrograms(environment(own), say)).toEqual({ server: onPath, sqlTool: given });
    expect(lines()).toEqual([]);
  });

  it('are built with Go in that version; without it the error names every way out', async () => {
    const { script, environment, say } = machine;
    const failure = await resolveClusterPrograms(environment(), say).catch(
      (error: unknown) => (error as Error).message,
    );
    for (const way of [
      'TEMPORAL_SERVER_PATH',
      'releases/tag/v1.28.1',
      'go install go.temporal.io/server/cmd/server@v1.28.1',
    ])
      expect(failure).toContain(way);
    script(
      'bin',
      'go',
      'printf "#!/bin/sh\\n" > "$GOBIN/$(case $2 in *sql*) echo sql;; *) echo server;; esac)"',
    );
    const { server, sqlTool } = await resolveClusterPrograms(environment(), say);
    expect([server.endsWith('/server'), sqlTool.endsWith('/sql')]).toEqual([true, true]);
  });
});
