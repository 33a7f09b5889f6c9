import { spellings } from '../security/dump.ts';

/** So much of a prompt tells it from others; the longest have a hundred thousand characters. */
const PROMPT_START = 60;
/** What a token, or the signature in it, may be a part of. */
const WORDS = /[\w.-]{20,}/g;
/** Shorter parts of a token are names, and no secrets. */
const SIGNATURE = 20;

export interface SoughtTexts {
  readonly secrets: readonly string[];
  readonly tokens: readonly string[];
  readonly prompts: readonly string[];
}

/** What nobody may find: secrets in any spelling, tokens and prompts as they stand or escaped. Made once, asked for each line. */
export class Sought {
  readonly #secrets: readonly string[];
  readonly #tokens: ReadonlySet<string>;
  readonly #prompts: readonly string[];
  readonly #promptStarts: readonly string[];

  constructor({ secrets, tokens, prompts }: SoughtTexts) {
    this.#secrets = secrets
      .filter((secret) => secret !== '')
      .flatMap(spellings)
      // Bytes that are no text can't be told from others in a line of text.
      .map((bytes) => bytes.toString('utf8'))
      .filter((text) => !text.includes('\uFFFD'));
    this.#tokens = new Set(tokens.flatMap((token) => [token, signatureOf(token)]));
    this.#prompts = prompts.filter((prompt) => prompt !== '').flatMap(spelled);
    this.#promptStarts = spelled(sharedStart(prompts));
  }

  /** What of it is in this text, in words that do not repeat it; null = nothing. */
  in(text: string): 'a secret' | 'a token' | 'a prompt' | null {
    if (this.#secrets.some((secret) => text.includes(secret))) return 'a secret';
    for (const [word] of text.matchAll(WORDS)) {
      if (this.#tokens.has(word) || this.#tokens.has(signatureOf(word))) return 'a token';
    }
    const mayHave = this.#promptStarts.some((start) => text.includes(start));
    return mayHave && this.#prompts.some((prompt) => text.includes(prompt)) ? 'a prompt' : null;
  }
}

/** The part after its last dot, which alone is as good as the token for whoever knows the rest. */
function signatureOf(token: string): string {
  const last = token.slice(token.lastIndexOf('.') + 1);
  return last.length >= SIGNATURE ? last : token;
}

function spelled(prompt: string): string[] {
  const start = prompt.slice(0, PROMPT_START);
  return [...new Set([start, JSON.stringify(start).slice(1, -1), encodeURIComponent(start)])];
}

/** One look for what they all begin with spares a look for each. */
function sharedStart(texts: readonly string[]): string {
  const [first = ''] = texts;
  let length = first.length;
  for (const text of texts) while (!text.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}
