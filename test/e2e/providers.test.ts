import { afterAll, beforeAll } from 'vitest';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { providerCatalogue } from '../support/provider-models.ts';
import { providersEndToEnd } from './providers.testsuite.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: providerCatalogue });
});
afterAll(() => room?.stop());

providersEndToEnd(() => room, ['infro', 'aigenway', 'crazyrouter', 'replicate']);
