import { expect, it } from 'vitest';
import { toProblem } from '../../src/api/errors.ts';
import { StorageUnavailable } from '../../src/services/failures.ts';

it('a storage that refuses connections is no database that is away', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9000'), { code: 'ECONNREFUSED' });
  expect(toProblem(new StorageUnavailable(cause))).toMatchObject({ code: 'storage_unavailable' });
  expect(toProblem(cause)).toMatchObject({ code: 'database_unavailable' });
});
