import type { ProviderCost } from '../domain/provider.ts';
import { decimalText } from './amounts.ts';
import type { KlingCharge } from './kling-schemas.ts';

const SCALE = 10;

/** The amount as a whole number of 10^-10; null when it is no plain decimal. */
function scaled(amount: unknown): bigint | null {
  const [whole, fraction = ''] = decimalText(amount)?.split('.') ?? [];
  return whole === undefined ? null : BigInt(whole + fraction.padEnd(SCALE, '0'));
}

function decimal(value: bigint): string {
  const digits = value.toString().padStart(SCALE + 1, '0');
  const fraction = digits.slice(-SCALE).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -SCALE) : `${digits.slice(0, -SCALE)}.${fraction}`;
}

/** `USD` or `CNY` from the balance, `units` from a resource package; null for another account or an odd currency. */
function unitOf({ charge_type: type, currency }: KlingCharge): string | null {
  if (type === 'unit') return 'units';
  return type === 'cash' && /^[A-Z]{3}$/.test(currency ?? '') ? (currency ?? null) : null;
}

/**
 * What Kling took for an ended task: the sum of its `billing` lines, final. Null when nothing is told, or when the lines
 * are of several units (a package that ran out in the middle), which one amount can't express.
 */
export function klingCost(billing: readonly KlingCharge[] | null | undefined): ProviderCost | null {
  const [first, ...others] = billing ?? [];
  if (first === undefined) return null;
  const unit = unitOf(first);
  let sum = 0n;
  for (const charge of [first, ...others]) {
    const amount = scaled(charge.amount);
    if (amount === null || unitOf(charge) !== unit) return null;
    sum += amount;
  }
  const amount = decimalText(decimal(sum));
  return unit === null || amount === null ? null : { amount, unit, final: true };
}
