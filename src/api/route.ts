import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ParsedUrlQuery } from 'node:querystring';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import type { Scope } from '../domain/api-key.ts';
import type { Catalogue } from '../domain/catalogue.ts';
import type { Readiness } from '../services/check-readiness.ts';
import type { ServiceContext } from '../services/context.ts';
import type { SweepContext } from '../services/sweep-context.ts';
import type { Waiters } from '../services/await-generation.ts';
import type { FileDelivery } from '../services/file-delivery.ts';
import type { GenerationChanges } from '../services/generation-changes.ts';
import type { ProblemCode } from './problems.ts';

/** What routes are built over: the services' context and what only the API has. */
export interface ApiContext extends ServiceContext {
  readonly waiters: Waiters;
  readonly changes: GenerationChanges;
  readonly fileDelivery: FileDelivery;
  readonly readiness: () => Promise<Readiness>;
  /** What a sweep by hand acts on. */
  readonly sweep: SweepContext;
  /** Aborted when the process begins to stop: readiness fails and waits end. */
  readonly draining: AbortSignal;
  /** The API document as JSON text, and as a page with the hash of its style. */
  readonly documentJson: string;
  readonly docsPage: { readonly html: string; readonly contentSecurityPolicy: string };
}

/** One request, reduced to what a handler needs. */
export interface Call {
  readonly request: IncomingMessage;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ParsedUrlQuery;
  /** Aborted when the answer is over or the client is gone. */
  readonly signal: AbortSignal;
}

export interface TenantCall extends Call {
  readonly tenantId: string;
  /** Who calls, for the record: `key:<id>`. */
  readonly actor: string;
}

export type OperatorCall = Omit<TenantCall, 'tenantId'>;

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly body?: string;
  /** Which generation it is about, for the log, where the path does not tell. */
  readonly generation?: string | null;
  /**
   * Instead of `body`: writes it piece by piece after the headers, minding back pressure and `Call.signal`, and resolves
   * when it is over; the response is ended after it. A throw cuts the connection, so that nobody takes a part for the whole.
   */
  readonly stream?: (response: ServerResponse) => Promise<void>;
}

/** The document of a route without its problems, which are listed as codes. */
export type Operation = Omit<ZodOpenApiOperationObject, 'security'>;

interface RouteBase {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As OpenAPI spells it: `/v1/generations/{id}`. */
  readonly path: string;
  /** Problems are told as clients of the OpenAI API read them; the path decides (video-errors.ts). */
  readonly errorShape?: 'video';
  /** Problems beyond those that every route, or its authentication, has. */
  readonly problems: readonly ProblemCode[];
  readonly describe: (catalogue: Catalogue) => Operation;
}

/** A route for callers with a tenant's API key of this scope. */
export interface TenantRoute extends RouteBase {
  readonly auth: Exclude<Scope, 'admin'>;
  /** A watch token of the generation `{id}` opens it as well, from any origin: `?watch_token=`. For reading only. */
  readonly watch?: true;
  readonly handle: (ctx: ApiContext) => (call: TenantCall) => Promise<Reply>;
}

/** A route for operators: a key with the scope `admin`, which belongs to no tenant. */
export interface OperatorRoute extends RouteBase {
  readonly auth: 'operator';
  readonly handle: (ctx: ApiContext) => (call: OperatorCall) => Promise<Reply>;
}

/** `none` = for everybody; `callback` and `link` = proved by a token or signature, by the handler itself. */
export interface OpenRoute extends RouteBase {
  readonly auth: 'none' | 'callback' | 'link';
  readonly handle: (ctx: ApiContext) => (call: Call) => Promise<Reply>;
}

export type Route = TenantRoute | OperatorRoute | OpenRoute;

/** The scope that a key needs for this route; null = no key. */
export function scopeOf(route: Route): Scope | null {
  switch (route.auth) {
    case 'none':
    case 'callback':
    case 'link':
      return null;
    case 'operator':
      return 'admin';
    default:
      return route.auth;
  }
}

/** Whether a watch token opens it as well. */
export function isWatchable(route: Route): boolean {
  return 'watch' in route;
}

/** A JSON answer. */
export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers, contentType: 'application/json', body: JSON.stringify(value) };
}
