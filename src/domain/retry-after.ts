const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The three date forms that a recipient must accept (RFC 9110 §5.6.7): IMF-fixdate, RFC 850, asctime. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const RFC_850 = /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;

/** No wait that another side asks for is longer than a day. */
const MAX_RETRY_AFTER_MS = 86_400_000;

function utcMs(year: number, monthName: string, day: string, time: readonly string[]): number | null {
  const month = MONTHS.indexOf(monthName);
  const [hour, minute, second] = time.map(Number);
  if (month < 0 || hour! > 23 || minute! > 59 || second! > 60) return null;
  const ms = Date.UTC(year, month, Number(day), hour, minute, second);
  return new Date(ms).getUTCDate() === Number(day) || second === 60 ? ms : null;
}

/** A two-digit year that looks more than 50 years ahead is the last one with these digits (RFC 9110 §5.6.7). */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

function httpDateMs(text: string, nowMs: number): number | null {
  const imf = IMF_FIXDATE.exec(text);
  if (imf) return utcMs(Number(imf[3]), imf[2]!, imf[1]!, imf.slice(4, 7));
  const rfc850 = RFC_850.exec(text);
  if (rfc850) return utcMs(fullYear(Number(rfc850[3]), nowMs), rfc850[2]!, rfc850[1]!, rfc850.slice(4, 7));
  const asctime = ASCTIME.exec(text);
  if (asctime) return utcMs(Number(asctime[6]), asctime[1]!, asctime[2]!.trim(), asctime.slice(3, 6));
  return null;
}

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3): seconds or an HTTP date, as milliseconds from `nowMs`, never below 0 and
 * never above one day. Null when the header is absent or has another form: then the caller's own delay holds.
 */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const atMs = /^\d{1,9}$/.test(text) ? nowMs + Number(text) * 1_000 : httpDateMs(text, nowMs);
  return atMs === null ? null : Math.min(MAX_RETRY_AFTER_MS, Math.max(0, atMs - nowMs));
}
