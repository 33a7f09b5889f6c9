import type { CancelAnswer } from '../../src/domain/provider.ts';
import { completed, json, plain, running, state, succeeded, URL_1 } from './fal-rows.ts';
import type { Row } from './fixture.ts';
import type { ScriptedAnswer, SeenRequest } from './scripted-server.ts';

/** The cancel is answered so; the looks after it show these. */
const cancelThen =
  (status: number, word: string, after: (request: SeenRequest) => ScriptedAnswer) =>
  (request: SeenRequest): ScriptedAnswer =>
    request.method === 'PUT' ? json(status, { status: word }) : after(request);
const always = (answer: ScriptedAnswer) => () => answer;
const inProgress = always(state(202, { status: 'IN_PROGRESS' }));

export const cancelRows: readonly Row<CancelAnswer>[] = [
  {
    name: 'taken from the queue',
    answer: json(200, { status: 'OK' }),
    expect: { kind: 'answered', observation: { kind: 'cancelled', status: 'OK' } },
  },
  {
    name: 'requested, and it still runs',
    answer: cancelThen(202, 'CANCELLATION_REQUESTED', inProgress),
    expect: { kind: 'answered', observation: running('IN_PROGRESS') },
  },
  {
    name: 'requested, and gone',
    answer: cancelThen(202, 'CANCELLATION_REQUESTED', always(plain(404))),
    expect: { kind: 'answered', observation: { kind: 'not_found' } },
  },
  {
    name: 'requested, and out of sight',
    answer: cancelThen(202, 'CANCELLATION_REQUESTED', always({ status: 503 })),
    expect: { kind: 'answered', observation: running('CANCELLATION_REQUESTED') },
  },
  {
    name: 'E1 ALREADY_COMPLETED is looked at again',
    answer: cancelThen(400, 'ALREADY_COMPLETED', completed(json(200, { video: { url: URL_1 } }))),
    expect: { kind: 'answered', observation: succeeded([URL_1]) },
  },
  {
    name: 'E1 ALREADY_COMPLETED, and out of sight',
    answer: cancelThen(400, 'ALREADY_COMPLETED', always({ status: 502 })),
    expect: { kind: 'unavailable', reason: 'http_502' },
  },
  {
    name: 'NOT_FOUND though it runs',
    answer: cancelThen(404, 'NOT_FOUND', inProgress),
    expect: { kind: 'unavailable', reason: 'http_404' },
  },
  {
    name: 'NOT_FOUND and not found says nothing of the job',
    answer: cancelThen(404, 'NOT_FOUND', always(plain(404))),
    expect: { kind: 'unavailable', reason: 'http_404' },
  },
  { name: 'no body', answer: { status: 204 }, expect: { kind: 'unavailable', reason: 'unreadable_answer' } },
  { name: '500', answer: plain(500), expect: { kind: 'unavailable', reason: 'http_500' } },
  { name: '401', answer: plain(401), expect: { kind: 'unavailable', reason: 'http_401' } },
];
