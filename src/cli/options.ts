import { userInfo } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import { accountSchema } from '../domain/generation-request.ts';
import { countCharacters } from '../domain/text.ts';

const MAX_INTEGER = 2_147_483_647;

function whole(text: string, min: number, max: number, what: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new InvalidArgumentError(`Write a whole number of ${what}, from ${min} to ${max}.`);
  }
  return value;
}

/** Credits that are given: at least one. */
export const credits = (text: string): number => whole(text, 1, Number.MAX_SAFE_INTEGER, 'credits');

/** How many rows a list shows at most. */
export const rows = (text: string): number => whole(text, 1, 1_000, 'rows');

/** A limit: a whole number from `min`, or `none` to lift it (the parser would take a null for nothing given). */
export function limitOf(what: string, min = 0, max = MAX_INTEGER) {
  return (text: string): number | 'none' => {
    if (text === 'none') return text;
    try {
      return whole(text, min, max, what);
    } catch {
      throw new InvalidArgumentError(`Write a whole number of ${what}, from ${min} to ${max}, or none.`);
    }
  };
}

/** An account as generations may name it: one of another form could never be used. */
export function accountName(text: string): string {
  const parsed = accountSchema.safeParse(text);
  if (!parsed.success)
    throw new InvalidArgumentError(parsed.error.issues.map(({ message }) => message).join(' '));
  return parsed.data;
}

/** A UTC day that exists, as `YYYY-MM-DD`. */
export function day(text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text) {
    throw new InvalidArgumentError('Write a day that exists, as YYYY-MM-DD.');
  }
  return text;
}

/** The operator's own id of a grant; those that begin with `api:` belong to keys of the HTTP API. */
export function grantReference(text: string): string {
  if (text.startsWith('api:') || !/^[\x21-\x7e]{1,255}$/.test(text)) {
    throw new InvalidArgumentError(
      'Write 1 to 255 visible ASCII characters that do not begin with "api:", for example order-17.',
    );
  }
  return text;
}

/** A name that machines compare: reasons of refunds. */
export function slug(text: string): string {
  if (!/^[a-z0-9][a-z0-9_.-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError(
      'Write 1 to 64 of a-z, 0-9, . _ and -, beginning with a letter or digit: for example bad_output.',
    );
  }
  return text;
}

/** Words for the record of operators. */
export function sentence(text: string): string {
  const words = text.trim();
  if (words === '' || countCharacters(words) > 500 || /\p{Cc}/u.test(words)) {
    throw new InvalidArgumentError('Write 1 to 500 characters on one line.');
  }
  return words;
}

/** A decimal amount of a provider's unit, exact. */
export function amount(text: string): string {
  if (!/^\d{1,12}(\.\d{1,10})?$/.test(text)) {
    throw new InvalidArgumentError('Write a decimal number that is not negative, for example 25 or 0.5.');
  }
  return text;
}

/** USD, credits, units: what the provider counts in. */
export function unit(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(text)) {
    throw new InvalidArgumentError("Write the provider's unit as its costs have it: for example USD.");
  }
  return text;
}

/** The name of a provider as the catalogue writes it. */
export function providerName(text: string): string {
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('Write a provider as the catalogue names it: for example infro.');
  }
  return text;
}

/** Who acts, for the record: `cli:` and the given name, else the user of this machine. */
export const actorOption = (): Option =>
  new Option('--actor <name>', 'who you are, for the record')
    .argParser(actor)
    .default(`cli:${osUser()}`, 'your user on this machine');

function actor(text: string): string {
  const name = text.trim();
  if (name === '' || countCharacters(name) > 190 || /\p{Cc}/u.test(name)) {
    throw new InvalidArgumentError('Write 1 to 190 characters on one line.');
  }
  return `cli:${name}`;
}

function osUser(): string {
  try {
    return userInfo().username || 'unknown';
  } catch {
    // A container may run under a user id that has no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
