import { Problem } from '../../problems.ts';

/** One answer for malformed, unknown, deleted and another tenant's ids. */
export function inputNotFound(): Problem {
  return new Problem('input_not_found', 'Check the id; a file that is past its expires_at is deleted.');
}

/** A file that no scanner has seen is never taken. */
export function scanUnavailable(): Problem {
  return new Problem('scan_unavailable', 'Nothing was kept. Send the same request again.', {
    headers: { 'Retry-After': '10' },
  });
}

/** Too many files at once in this process, or of this tenant. */
export function tooManyFiles(): Problem {
  return new Problem('busy', 'Too many files are being received: send the same request again soon.', {
    headers: { 'Retry-After': '5' },
  });
}
