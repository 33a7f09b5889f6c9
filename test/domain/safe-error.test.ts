import { describe, expect, it } from 'vitest';
import { safeError } from '../../src/domain/safe-error.ts';

describe('safeError: nothing of the message, which may quote a prompt or a secret', () => {
  it('keeps name and place', () => {
    const safe = safeError(new TypeError('the prompt was "my secret"'));
    expect(safe.name).toBe('TypeError');
    expect(safe.at[0]).toMatch(/^at .*safe-error\.test\.ts/);
    expect(safe).not.toHaveProperty('code');
    expect(JSON.stringify(safe)).not.toContain('secret');
  });

  it('keeps a code that is text', () => {
    expect(safeError(Object.assign(new Error('x'), { code: 'ECONNRESET' }))).toMatchObject({
      name: 'Error',
      code: 'ECONNRESET',
    });
    expect(safeError(Object.assign(new Error('x'), { code: 42 }))).not.toHaveProperty('code');
  });

  it('leaves out lines of a message that reaches over several, and all but eight frames', () => {
    const error = new Error('x');
    error.stack = `Error: first\nmy secret\n${Array.from({ length: 12 }, (_, i) => `    at f${i} (a.ts:${i})`).join('\n')}`;
    expect(safeError(error).at).toEqual(Array.from({ length: 8 }, (_, i) => `at f${i} (a.ts:${i})`));
  });

  it.each([
    ['text', 'my secret', 'string'],
    ['nothing', undefined, 'undefined'],
    ['an object', { message: 'my secret' }, 'object'],
  ])('of %s only the kind', (_name, thrown, name) => {
    expect(safeError(thrown)).toEqual({ name, at: [] });
  });

  it('bears an error without a stack', () => {
    const error = new Error('x');
    delete error.stack;
    expect(safeError(error)).toEqual({ name: 'Error', at: [] });
  });
});
