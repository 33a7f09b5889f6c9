import { aigenwaySimulator } from './aigenway.ts';
import { crazyrouterSimulator } from './crazyrouter.ts';
import { falSimulator } from './fal.ts';
import { infroSimulator } from './infro.ts';
import { klingSimulator } from './kling.ts';
import type { ProviderSimulator } from './protocol.ts';
import { replicateSimulator } from './replicate.ts';
import { runwaySimulator } from './runway.ts';

/** Every simulator there is; one more provider is one more line. */
export const SIMULATORS: readonly ProviderSimulator[] = [
  infroSimulator,
  aigenwaySimulator,
  crazyrouterSimulator,
  replicateSimulator,
  falSimulator,
  klingSimulator,
  runwaySimulator,
];
