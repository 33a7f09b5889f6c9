import { describe, expect, it } from 'vitest';
import { commandsOn } from './run.ts';

const darkroom = commandsOn({ databaseUrl: () => 'postgresql://nobody@127.0.0.1:1/none' });

describe('darkroom provider smoke', () => {
  it('pays nothing without --pay', async () => {
    expect(await darkroom('provider', 'smoke', 'infro')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('add --pay') as string,
    });
  });

  it('says which key is missing', async () => {
    expect(await darkroom('provider', 'smoke', 'infro', '--pay')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('PROVIDER_INFRO_API_KEY') as string,
    });
  });
});
