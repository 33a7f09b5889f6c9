import { aigenwaySimulator } from './aigenway.ts';
import { bflSimulator } from './bfl.ts';
import { crazyrouterSimulator } from './crazyrouter.ts';
import { falSimulator } from './fal.ts';
import { infroSimulator } from './infro.ts';
import { klingSimulator } from './kling.ts';
import { lumaSimulator } from './luma.ts';
import { minimaxSimulator } from './minimax.ts';
import { openaivideosSimulator } from './openaivideos.ts';
import type { ProviderSimulator } from './protocol.ts';
import { replicateSimulator } from './replicate.ts';
import { runwaySimulator } from './runway.ts';
import { veoSimulator } from './veo.ts';

/** Every simulator there is; one more provider is one more line. */
export const SIMULATORS: readonly ProviderSimulator[] = [
  infroSimulator,
  aigenwaySimulator,
  crazyrouterSimulator,
  replicateSimulator,
  falSimulator,
  klingSimulator,
  runwaySimulator,
  bflSimulator,
  lumaSimulator,
  veoSimulator,
  openaivideosSimulator,
  minimaxSimulator,
];
