import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import type { RunFacts } from '../db/run-facts.ts';

/** Names by which operators find runs in the UI; registered by `darkroom migrate`. All are keywords. */
export const SEARCH_ATTRIBUTES = ['TenantId', 'Provider', 'Model', 'GenerationState'] as const;

const keyword = (name: (typeof SEARCH_ATTRIBUTES)[number]) =>
  defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);

/** What a run carries from its start. */
export function startAttributes(facts: RunFacts): SearchAttributePair[] {
  return [
    { key: keyword('TenantId'), value: facts.tenantId },
    { key: keyword('Provider'), value: facts.provider },
    { key: keyword('Model'), value: facts.model },
    { key: keyword('GenerationState'), value: 'running' },
  ];
}
