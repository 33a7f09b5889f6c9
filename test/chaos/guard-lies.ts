import { Control } from '../simulators/control.ts';
import * as lies from './lies.ts';
import { lie, type Lie } from './lies.ts';
import type { SmallWorld } from './small-world.ts';

const IN_LOG = 'no secret is in a log';

async function answerAbout({ world, room, ids }: SmallWorld): Promise<Response> {
  return fetch(`${world.apiUrl}/v1/generations/${ids.infro}`, {
    headers: { authorization: `Bearer ${room.key}` },
  });
}

async function callbackToken({ world, ids }: SmallWorld): Promise<string> {
  const asked = world.asked.find(({ id }) => id === ids.infro);
  const { jobs } = await new Control(world.simulators['infro'] ?? '').journal(asked?.prompt);
  return /\/callbacks\/infro\/(sub_[\w.-]+)/.exec(jobs[0]?.request_body ?? '')?.[1] ?? '';
}

async function linkSignature(small: SmallWorld): Promise<string> {
  const { outputs } = (await (await answerAbout(small)).json()) as { outputs: { url: string }[] };
  return new URL(outputs[0]?.url ?? '').searchParams.get('signature') ?? '';
}

/** About what nobody may see, what is told to nobody, and what the processes say of themselves. */
export const GUARD_LIES: readonly Lie[] = [
  lie(
    'its webhook is held back',
    ['no webhook is held back'],
    'polled',
    lies.inDatabase(
      'webhook_delivery',
      (id) => `event_id IN (SELECT id FROM webhook_event WHERE generation_id = '${id}')`,
      (id) =>
        `UPDATE webhook_delivery SET state = 'held' WHERE event_id IN (SELECT id FROM webhook_event WHERE generation_id = '${id}')`,
      'polled',
    ),
  ),
  lie(
    'an endpoint was disabled that never answered 410',
    ['an endpoint is disabled by a 410 only'],
    null,
    lies.inDatabase(
      'webhook_endpoint',
      () => 'true',
      () => `UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'gone'`,
      'infro',
    ),
  ),
  lie(
    'an invariant was violated under way',
    ['no invariant is violated under way'],
    'infro',
    lies.logLine(
      ({ ids }) =>
        `{"level":50,"problem":"invariant_violated","check":"x","examples":["${ids.infro}"],"msg":"sweep"}`,
    ),
  ),
  lie(
    'a secret in a log, in hex',
    [IN_LOG],
    'infro',
    lies.logLine(({ world, ids }) => `${ids.infro} ${Buffer.from(world.secrets[0] ?? '').toString('hex')}`),
  ),
  lie(
    'a prompt in a log, escaped',
    [IN_LOG],
    'infro',
    lies.logLine(({ ids }) => `${ids.infro} ${encodeURIComponent('a small world, infro')}`),
  ),
  lie(
    'a callback token in a log',
    [IN_LOG],
    'infro',
    lies.logLine(
      async (small) => `${small.ids.infro} POST /callbacks/infro/${await callbackToken(small)} 200`,
    ),
  ),
  lie(
    'the signature of a callback token in a log',
    [IN_LOG],
    'infro',
    lies.logLine(async (small) => `${small.ids.infro} "${(await callbackToken(small)).split('.')[1]}"`),
  ),
  lie('the signature of a link in a log', [IN_LOG], 'infro', async (small) => {
    const signature = await linkSignature(small);
    const planted = await lies.logLine(({ ids }) => `${ids.infro} GET /v1/files?signature=${signature}`)(
      small,
    );
    return { ...planted, world: { tokens: [signature] } };
  }),
  lie('a watch token in a log', [IN_LOG], 'infro', async (small) => {
    const token = (await answerAbout(small)).headers.get('watch-token') ?? '';
    return lies.logLine(({ ids }) => `${ids.infro} GET /?watch_token=${token}`)(small);
  }),
];
