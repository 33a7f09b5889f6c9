import { catalogueSchema, type Catalogue } from '../../src/domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';

/** As the default catalogue has it. */
export const MODEL = 'infro-video';
/** The same, which waits for its callback for hours without being looked at. */
export const WAITING_MODEL = 'infro-video-waiting';

const HOURS = 12;

export function benchCatalogue(): Catalogue {
  const model = DEFAULT_CATALOGUE.models.find(({ id }) => id === MODEL);
  if (model === undefined) throw new Error(`the default catalogue has no ${MODEL}`);
  const seconds = HOURS * 3_600;
  const waiting = {
    ...model,
    id: WAITING_MODEL,
    deadlineSeconds: { default: seconds, max: seconds },
    timings: { ...model.timings, firstPollMs: seconds * 1_000 },
  };
  return catalogueSchema.parse({ models: [model, waiting] });
}
