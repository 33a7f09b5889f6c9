import { z } from 'zod';

/** Visible ASCII, and never a path segment of dots: an id goes into URLs. */
export const jobId = z.string().regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,255}$/);
