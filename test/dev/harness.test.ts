import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { temporalAddress, temporalUiUrl } from '../support/stack.ts';

test('the Temporal server of the run knows our search attributes and serves its Web UI', async () => {
  const connection = await Connection.connect({ address: temporalAddress() });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace: 'default',
    });
    expect(Object.keys(customAttributes)).toEqual(
      expect.arrayContaining(['TenantId', 'Provider', 'Model', 'GenerationState']),
    );
  } finally {
    await connection.close();
  }
  expect((await fetch(temporalUiUrl())).status).toBe(200);
});
