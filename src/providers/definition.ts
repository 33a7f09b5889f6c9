import { z } from 'zod';
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';

/** What an adapter is made from, beside its own settings. */
interface ProviderParts {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  /** The clock; the process's own if not given. */
  readonly nowMs?: (() => number) | undefined;
}

/** Whether callbacks are verified with PROVIDER_<NAME>_WEBHOOK_SECRET. */
export type WebhookSecretUse = 'required' | 'none';

/** A provider whose settings were found right. */
export interface ConfiguredProvider {
  readonly webhookSecret: WebhookSecretUse;
  readonly create: (parts: ProviderParts) => Provider;
}

/** One provider as configuration and composition know it; its adapter file exports it. */
export interface ProviderDefinition {
  /** As the catalogue's routes name it; upper-cased in the names of its variables. */
  readonly name: string;
  /** Its public API. */
  readonly baseUrl: string;
  /** It has no public API: with a key, PROVIDER_<NAME>_BASE_URL must be set. `baseUrl` is nobody's then. */
  readonly needsBaseUrl: boolean;
  /** Own settings by the end of their variable: `COST_UNIT` is PROVIDER_<NAME>_COST_UNIT. */
  readonly settings: readonly string[];
  /** Reads the settings from texts; the problems name a setting and say what to do, never a value. */
  readonly configure: (
    texts: Readonly<Record<string, string | undefined>>,
  ) =>
    | { readonly configured: ConfiguredProvider }
    | { readonly problems: readonly { readonly setting: string; readonly problem: string }[] };
}

/** A definition whose own settings are zod schemas that read text. */
export function defineProvider<S extends z.ZodRawShape>(definition: {
  readonly name: string;
  readonly baseUrl: string;
  readonly needsBaseUrl?: boolean;
  readonly settings: S;
  readonly webhookSecret: WebhookSecretUse | ((settings: z.output<z.ZodObject<S>>) => WebhookSecretUse);
  readonly create: (parts: ProviderParts & { readonly settings: z.output<z.ZodObject<S>> }) => Provider;
}): ProviderDefinition {
  const { name, baseUrl, webhookSecret, create } = definition;
  const schema = z.object(definition.settings);
  return {
    name,
    baseUrl,
    needsBaseUrl: definition.needsBaseUrl ?? false,
    settings: Object.keys(definition.settings),
    configure(texts) {
      const parsed = schema.safeParse(texts);
      if (!parsed.success) {
        const { issues } = parsed.error;
        return {
          problems: issues.map(({ path, message }) => ({ setting: String(path[0]), problem: message })),
        };
      }
      const settings = parsed.data;
      return {
        configured: {
          webhookSecret: typeof webhookSecret === 'function' ? webhookSecret(settings) : webhookSecret,
          create: (parts) => create({ ...parts, settings }),
        },
      };
    },
  };
}

/** A setting that is a list of host names, `*.suffix` allowed, separated by commas. */
export const hostList = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim().toLowerCase()))
  .refine(
    (hosts) => hosts.every((host) => /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(host)),
    'must be host names separated by commas, for example files.example.com,*.example.com',
  );

/** A setting that is a path with the job's id in it. */
export const pathWithId = z
  .string()
  .regex(
    /^\/[A-Za-z0-9_./?=&-]*\{id\}[A-Za-z0-9_./?=&-]*$/,
    'must be a path with {id} in it, for example /v1/jobs/{id}',
  );

/** A setting that is a list of member names of a JSON object, separated by commas. */
export const memberNames = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine(
    (names) => names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)),
    'must be member names separated by commas, for example url,video',
  );

/** A setting that is the unit of amounts. */
export const costUnit = z.string().regex(/^[A-Za-z0-9_]{1,32}$/, 'must be a word, for example USD');

/** A setting that is the name of an HTTP header; lower case from here on. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header, for example X-Signature')
  .transform((text) => text.toLowerCase());

/** A setting that is true or false. */
export const yesOrNo = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true');

/** A setting that is a list of a provider's words (status strings, codes), exact, separated by commas. */
export const words = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine(
    (list) => list.every((word) => /^[A-Za-z0-9_.-]{1,64}$/.test(word)),
    'must be words separated by commas, written exactly as the provider sends them',
  );

/** A setting that is a number of milliseconds. */
export const milliseconds = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, 'must be milliseconds, from 1 to 9999999999')
  .transform(Number);

/** A setting that is a regular expression, without regard to case. */
export const pattern = z.string().transform((text, context) => {
  try {
    return new RegExp(text, 'i');
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a regular expression, for example nsfw|flagged' });
    return z.NEVER;
  }
});

/** A setting that is a URL. */
export const httpUrl = (example: string) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
      `must be an http(s) URL, for example ${example}`,
    );
