import type { NextFunction, Request, Response } from 'express';
import type { Log } from '../log.ts';
import { safeError } from '../domain/safe-error.ts';
import { isTemporaryFailure, StorageUnavailable } from '../services/failures.ts';
import { Problem, PROBLEMS, problemDocument, type ProblemCode } from './problems.ts';
import { requestFacts } from './request-facts.ts';
import { isVideosPath, videoErrorOf } from './video-errors.ts';

const DATABASE_RETRY_SECONDS = 2;
const STORAGE_RETRY_SECONDS = 5;
/** Troubles of ours, which operators have to see. */
const LOGGED: ReadonlySet<ProblemCode> = new Set([
  'internal_error',
  'database_unavailable',
  'storage_unavailable',
]);

/** Any thrown value as a problem; what is not ours becomes 503 (database away) or 500, without its text. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  // The router decodes path parameters and throws a 400 for a broken percent-encoding.
  if (error instanceof URIError) {
    return new Problem('malformed_url', 'Correct the percent-encoding of the path.');
  }
  if (error instanceof StorageUnavailable) {
    return new Problem('storage_unavailable', 'Nothing was changed. Send the same request again.', {
      headers: { 'Retry-After': String(STORAGE_RETRY_SECONDS) },
      cause: error.cause,
    });
  }
  if (isTemporaryFailure(error)) {
    return new Problem(
      'database_unavailable',
      'Nothing was changed, or the same Idempotency-Key will show it. Send the same request again.',
      { headers: { 'Retry-After': String(DATABASE_RETRY_SECONDS) } },
    );
  }
  return new Problem(
    'internal_error',
    'Send the same request again; if it stays, give the request id in "instance" to your operator.',
  );
}

/** Writes a problem document, in the shape of the videos below their path, or cuts the connection when the answer has already begun. */
export function sendProblem(response: Response, problem: Problem): void {
  const facts = requestFacts(response);
  facts.problem = problem.code;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.statusCode = PROBLEMS[problem.code].status;
  for (const [name, value] of Object.entries(problem.options.headers ?? {})) response.setHeader(name, value);
  response.setHeader('Cache-Control', 'no-store');
  if (isVideosPath(response.req.path)) {
    const { body, headers } = videoErrorOf(problem);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('Content-Type', 'application/json');
    response.end(body);
    return;
  }
  response.setHeader('Content-Type', 'application/problem+json');
  response.end(problemDocument(problem, facts.requestId));
}

/** Express's last stop. It needs all four parameters to be recognised. */
export function errorHandler(log: Log) {
  return (error: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const problem = noteProblem(response, error);
    const { requestId, route, failure, told } = requestFacts(response);
    if (told && failure !== null) {
      const fields = { request_id: requestId, route, problem: problem.code, error: safeError(failure) };
      log.error(fields, 'request failed after its end');
    }
    sendProblem(response, problem);
  };
}

/** What was thrown as a problem, for the line of its request as well; to be called before the response is over. */
export function noteProblem(response: Response, error: unknown): Problem {
  const problem = toProblem(error);
  const facts = requestFacts(response);
  facts.problem = problem.code;
  if (LOGGED.has(problem.code)) facts.failure = problem.options.cause ?? error;
  return problem;
}
