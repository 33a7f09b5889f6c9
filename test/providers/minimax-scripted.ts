import type { ScriptedAnswer } from './scripted-server.ts';

/** Id and times as MiniMax's own query page shows them. */
export const JOB = '424010985738629';
const CREATED = 1_785_125_529;
const UPDATED = 1_785_125_946;
export const NOW_MS = UPDATED * 1_000 + 86_400_000;

/** The error envelope of its pages: the code stands at the end of the message. */
export const error = (
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer => ({
  status,
  headers,
  body: JSON.stringify({
    type: 'error',
    error: { type, message, http_code: String(status) },
    request_id: '021785229015510a2c883cf675b9804d',
  }),
});
/** An answer with version 1's `base_resp`. */
export const base = (
  code: unknown,
  message = 'secret text of the provider',
  more: object = {},
): ScriptedAnswer => ({
  status: 200,
  body: JSON.stringify({ ...more, base_resp: { status_code: code, status_msg: message } }),
});
export const ok = (value: unknown): ScriptedAnswer => ({ status: 200, body: JSON.stringify(value) });
/** The answer to a query. */
export const task = (members: object): ScriptedAnswer =>
  ok({
    task: {
      id: JOB,
      model: 'MiniMax-H3',
      created_at: CREATED,
      updated_at: UPDATED,
      resolution: '2K',
      duration: 5,
      ratio: '16:9',
      task_type: 'generation',
      modality: 'video',
      ...members,
    },
  });
