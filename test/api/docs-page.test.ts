import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { docsPage } from '../../src/api/docs-page.ts';
import { fieldTable } from '../../src/api/docs-schema.ts';
import { prose } from '../../src/api/html.ts';
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';

const document = openApiDocument(ROUTES, DEFAULT_CATALOGUE);
const page = docsPage(document).html;

/** The markup of one operation or schema. */
function section(id: string): string {
  const start = page.indexOf(`<section id="${id}">`);
  expect(start).toBeGreaterThan(0);
  return page.slice(start, page.indexOf('</section>', start));
}

describe('the page of the API document', () => {
  it('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(document.info.version).toBe(version);
    expect(page).toContain(`<h1>Darkroom API ${version}</h1>`);
  });

  it('goes the way of a user', () => {
    const ids = [...page.matchAll(/<section id="([a-z]\w+)">/g)].map((match) => match[1]);
    expect(ids).toEqual([
      'createGeneration',
      'getGeneration',
      'followGeneration',
      'listGenerations',
      'cancelGeneration',
      'deleteGeneration',
      'getOutput',
      'deleteOutputs',
      'eraseInput',
      'createVideo',
      'listVideos',
      'getVideo',
      'deleteVideo',
      'downloadVideo',
      'uploadInput',
      'getInput',
      'getOutputFile',
      'getInputFile',
      'listModels',
      'createQuote',
      'getCredits',
      'getAccountCredits',
      'listEntries',
      'listAccountEntries',
      'createGrant',
      'createAccountGrant',
      'listWebhookEndpoints',
      'createWebhookEndpoint',
      'getWebhookEndpoint',
      'changeWebhookEndpoint',
      'deleteWebhookEndpoint',
      'rotateWebhookEndpointSecret',
      'testWebhookEndpoint',
      'redeliverSince',
      'rotateWebhookSecret',
      'listWebhookDeliveries',
      'getWebhookDelivery',
      'redeliverWebhook',
      'findGenerations',
      'showGeneration',
      'wakeGeneration',
      'observeGeneration',
      'retryStoring',
      'attachJob',
      'declareNotAccepted',
      'cancelGenerationAsOperator',
      'redeliverGeneration',
      'refundGeneration',
      'resolveGeneration',
      'sweepNow',
      'listPauses',
      'pause',
      'resume',
      'listCallbacks',
      'listOperatedWebhookDeliveries',
      'showOperatedWebhookDelivery',
      'redeliverOperatedWebhook',
      'listTenants',
      'createTenant',
      'listKeys',
      'createKey',
      'revokeKey',
      'listLimits',
      'setLimit',
      'listProviderBudgets',
      'setProviderBudget',
      'receiveCallback',
      'receiveAccountCallback',
      'health',
      'readiness',
      'metrics',
      'openApi',
      'docs',
    ]);
  });

  it('shows no backtick, and every link inside leads somewhere', () => {
    const prosePart = page.replace(/<pre[\s\S]*?<\/pre>/g, '').replace(/<style>[\s\S]*?<\/style>/, '');
    expect(prosePart).not.toContain('`');
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]!);
    expect(targets).toContain('problem-price_changed');
    expect(targets).toContain('schema-Generation');
    for (const target of targets) expect(page).toContain(`id="${target}"`);
  });

  it('shows a command where a caller can run it, and none for callbacks', () => {
    expect(section('getGeneration')).toContain('-H &quot;Prefer: wait=30&quot;');
    expect(section('followGeneration')).toContain('curl -sSN &quot;$DARKROOM_URL/v1/generations/');
    expect(section('receiveCallback')).not.toContain('curl');
    expect(section('receiveAccountCallback')).not.toContain('curl');
    expect(section('createGrant')).toContain('-H &quot;Authorization: Bearer $DARKROOM_KEY&quot;');
    expect(section('setLimit')).toContain('curl -sS -X PUT');
    expect(section('setLimit')).toContain('-H &quot;Authorization: Bearer $DARKROOM_ADMIN_KEY&quot;');
    expect(page.match(/curl -sS/g)).toHaveLength(page.match(/<section id="[a-z]\w+"/g)!.length - 2);
  });

  it('says what a stream holds, and that a watch token opens what it opens', () => {
    const follow = section('followGeneration');
    expect(follow).toContain(
      '<code>text/event-stream</code> of <a href="#schema-GenerationEvent">GenerationEvent</a>',
    );
    expect(follow).toContain('API key with scope generations. Or a watch token of the generation');
    expect(section('getGeneration')).toContain('Or a watch token');
    expect(section('deleteGeneration')).not.toContain('a watch token of');
    expect(section('createGeneration')).toContain('<code>Watch-Token</code>');
    expect(page).toContain('<section id="schema-GenerationEvent">');
  });

  it('shows values, bounds and defaults of parameters, and raw schemas only folded', () => {
    const list = section('listGenerations');
    expect(list).toContain('<td>1 to 100</td>');
    expect(list).toContain('<td><code>20</code></td>');
    expect(list).toContain('<code>queued</code>, <code>running</code>');
    expect(list).toContain('like <code>2026-11-29T12:00:00Z</code>');
    expect(list).not.toContain('02-29|');
    const withoutFolded = page.replace(/<details>[\s\S]*?<\/details>/g, '');
    expect(withoutFolded).not.toContain('additionalProperties');
    expect(page).toContain('additionalProperties');
  });

  it('the example of a parameter is the one of its command', () => {
    const example = /like <code>wait=(\d+)<\/code>/.exec(section('getGeneration'))?.[1];
    expect(section('getGeneration')).toContain(`-H &quot;Prefer: wait=${example ?? '30'}&quot;`);
  });

  it('gives the price rule in words, and all statuses of what is no HTTP', () => {
    const rule = page.slice(page.indexOf('<section id="schema-PriceRule">'));
    expect(rule.slice(0, 3_000)).toContain('round up to whole credits');
    expect(page).toContain('<tr id="problem-malformed_http">');
    expect(page).toContain('<td>400, 408, 413, 417, 431</td>');
  });

  it('puts every table into a box that scrolls by itself', () => {
    expect(page.match(/<table/g)!.length).toBeGreaterThan(20);
    expect(page.match(/tabindex="0"><table/g)).toHaveLength(page.match(/<table/g)!.length);
  });
});

describe('texts and schemas as markup', () => {
  it('escapes what it shows, also inside code', () => {
    expect(prose('a `<b>` & `c', (word) => (word === '<b>' ? '#"' : undefined)).raw).toBe(
      'a <a href="#&quot;"><code>&lt;b&gt;</code></a> &amp; `c',
    );
  });

  it('says null, lists and inner objects in words', () => {
    const row = (schema: object) => fieldTable([{ name: 'f', note: '', schema }], 'F').raw;
    expect(row({ anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] })).toContain('integer or null');
    expect(row({ type: ['string', 'null'] })).toContain('<td>string or null</td>');
    expect(row({ type: 'array', items: { type: 'string' } })).toContain('<td>list of strings</td>');
    expect(row({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })).toContain('at least 0');
  });
});
