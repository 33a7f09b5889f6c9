const DECIMAL = /^\d{1,12}(\.\d{1,10})?$/;

/** An amount as the decimal text that is stored; a number is rounded to ten places. Null for anything else. */
export function decimalText(amount: unknown): string | null {
  const text = typeof amount === 'number' ? plainText(amount) : amount;
  return typeof text === 'string' && DECIMAL.test(text) ? text : null;
}

function plainText(amount: number): string {
  const text = String(amount);
  return DECIMAL.test(text) ? text : amount.toFixed(10).replace(/\.?0+$/, '');
}

/** A whole number of units of which 10^`places` make one, as decimal text: 12000000 of 8 places is 0.12. */
export function scaledText(units: unknown, places: number): string | null {
  const text = typeof units === 'number' && Number.isSafeInteger(units) ? String(units) : units;
  if (typeof text !== 'string' || !/^\d{1,18}$/.test(text)) return null;
  const digits = text.padStart(places + 1, '0');
  const whole = digits.slice(0, -places).replace(/^0+(?=\d)/, '');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return decimalText(fraction === '' ? whole : `${whole}.${fraction}`);
}
