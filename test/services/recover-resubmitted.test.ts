import { afterAll, expect, it } from 'vitest';
import { declareNotAccepted } from '../../src/db/operator-actions.ts';
import { createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { recoverGenerations } from '../../src/services/recover-generations.ts';
import { useDatabase } from '../db/database.ts';
import { answer, create, newTenant, planFor, send } from '../db/fixtures.ts';

const test = useDatabase();
const http = createOutboundHttp({ allow: [] });
afterAll(() => http.close());
const provider = createInfroProvider({ http, baseUrl: 'https://infro.example' });
const keyring = parseKeyring(`k1:${Buffer.alloc(32, 1).toString('base64')}`);

it('a submission that the dump shows declared not accepted: the new one may have been sent, at the same place', async () => {
  const routes = [
    {
      provider: 'infro',
      providerModel: 'm-video',
      callbacks: true,
      params: {},
      estimatedCost: { amount: '0.25', unit: 'USD' },
    },
  ];
  const generationId = await create(test.db, await newTenant(test.db), {
    plan: { ...planFor(), routes },
    input: { prompt: 'a cat', duration_seconds: 5 },
  });
  await answer(test.db, generationId, await send(test.db, generationId), 'unknown');
  const by = { generationId, actor: 'cli:ann', reason: 'not in the console' };
  const declared = await declareNotAccepted(test.db, { ...by, submission: null, resubmit: true });
  expect(declared).toMatchObject({ outcome: 'done', effect: 'resubmitting' });

  const deps = {
    db: test.db,
    providers: new Map([['infro', { provider, current: { name: 'main', apiKey: 'key' } }]]),
    callbacks: createCallbackUrls(keyring, 'https://here.example'),
    links: null,
    trace: null,
    runsSince: async function* () {},
  };
  const { rows } = await recoverGenerations(deps, {
    restoredAt: new Date(),
    dryRun: false,
    actor: 'cli:ann',
    reason: 'disk lost',
  });
  expect(rows.find(({ generation }) => generation === generationId)).toMatchObject({
    submission: submissionId(generationId, 2),
    provider: 'infro',
    was: 'none',
    now: 'unknown',
  });
});
