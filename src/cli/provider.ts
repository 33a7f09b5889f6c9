import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { loadProviderConfig } from '../config.ts';
import { createOutboundHttp } from '../net/index.ts';
import { variablePrefix } from '../providers/configuration.ts';
import { createProviders } from '../providers/index.ts';
import { smokeProvider } from '../services/smoke-provider.ts';
import { show } from './context.ts';
import { commandEnvironment } from './environment.ts';
import { providerName } from './options.ts';
import { providerNewCommand } from './provider-new.ts';

const POLL_MS = 5_000;

interface SmokeOptions {
  readonly model?: string;
  readonly pay?: boolean;
  readonly json?: boolean;
}

/** `darkroom provider`: `new` writes one more; `smoke` tells in what a real, paid job differs from its adapter. */
export function providerCommand(): Command {
  return new Command('provider')
    .description('one provider')
    .addCommand(providerNewCommand())
    .addCommand(
      new Command('smoke')
        .description(
          'run one real, paid job by polling and report every difference; exit code 1 when there is one',
        )
        .argument('<provider>', 'with its API key in the environment', providerName)
        .option('--model <id>', 'a model of the catalogue; the first with a route to it, if not given')
        .option('--pay', 'needed: the provider bills this job')
        .option('--json', 'one JSON object on standard output')
        .action(smoke),
    );
}

async function smoke(name: string, options: SmokeOptions, command: Command): Promise<void> {
  if (options.pay !== true) {
    return command.error('The provider bills this job: add --pay if you want that.', { exitCode: 2 });
  }
  const config = loadProviderConfig(commandEnvironment());
  const configured = config.providers.get(name);
  if (configured === undefined) {
    return command.error(`${name} has no API key here: set ${variablePrefix(name)}API_KEY.`);
  }
  const models = config.catalogue.models.filter(
    ({ id }) => options.model === undefined || id === options.model,
  );
  const model = models.find(({ routes }) => routes.some(({ provider }) => provider === name));
  const route = model?.routes.find(({ provider }) => provider === name);
  if (model === undefined || route === undefined) {
    return command.error(`No such model of the catalogue has a route to ${name}: see GET /v1/models.`);
  }
  const http = createOutboundHttp({ allow: config.netAllow });
  try {
    const provider = createProviders({ http, providers: config.providers }).get(name)!;
    const ctx = {
      http,
      provider,
      credential: configured.current,
      say: (line: string) => process.stderr.write(`${line}\n`),
      pollMs: POLL_MS,
    };
    const result = await smokeProvider(ctx, { model, route, idempotencyKey: randomUUID() });
    const { jobId, differences } = result;
    show({ provider: name, model: model.id, job_id: jobId, differences }, options.json === true, () =>
      differences.length === 0 ? 'as expected' : differences.map((line) => `- ${line}`).join('\n'),
    );
    if (differences.length > 0) command.error(`${differences.length} differences`, { exitCode: 1 });
  } finally {
    await http.close();
  }
}
