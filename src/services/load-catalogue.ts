import { readFileSync } from 'node:fs';
import { catalogueSchema, DEFAULT_CATALOGUE, type Catalogue, type Model } from '../domain/catalogue.ts';
import { priceInCredits } from '../domain/pricing.ts';

/** What is wrong with one model beyond the shape of its fields; `field` is relative to the model. */
function contradictions(model: Model): { field: string; problem: string }[] {
  const { durationSeconds: duration } = model.limits;
  const { deadlineSeconds: deadline } = model;
  const found: { field: string; problem: string }[] = [];
  if (!(duration.min <= duration.default && duration.default <= duration.max)) {
    found.push({ field: 'limits.durationSeconds', problem: 'must be ordered min ≤ default ≤ max' });
  }
  if (deadline.default > deadline.max) {
    found.push({ field: 'deadlineSeconds', problem: 'default must not be above max' });
  }
  if (!Number.isSafeInteger(priceInCredits(model, duration.max))) {
    found.push({
      field: 'price.creditsPerSecond',
      problem: 'makes the longest video cost more than 2^53 − 1 credits',
    });
  }
  return found;
}

/** Checks a parsed catalogue; the problems name the field by its path, like `models[0].price.creditsPerSecond`. */
export function checkCatalogue(value: unknown): { catalogue: Catalogue } | { problems: string[] } {
  const parsed = catalogueSchema.safeParse(value);
  if (!parsed.success) {
    return { problems: parsed.error.issues.map((issue) => `${fieldPath(issue.path)}: ${issue.message}`) };
  }
  const { models } = parsed.data;
  const problems = models.flatMap((model, index) => [
    ...contradictions(model).map(({ field, problem }) => `models[${index}].${field}: ${problem}`),
    ...(models.findIndex((other) => other.id === model.id) < index
      ? [`models[${index}].id: "${model.id}" is there twice`]
      : []),
  ]);
  return problems.length > 0 ? { problems } : { catalogue: parsed.data };
}

function fieldPath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return '(whole file)';
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

/** Reads CATALOGUE_FILE, or the default catalogue when there is none; problems instead of a throw. */
export function loadCatalogue(file: string | undefined): { catalogue: Catalogue } | { problems: string[] } {
  if (file === undefined) return { catalogue: DEFAULT_CATALOGUE };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    return {
      problems: [`"${file}" could not be read (${code}): name a readable JSON file, or leave it unset.`],
    };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problems: [`"${file}" is not valid JSON.`] };
  }
  return checkCatalogue(value);
}
