/** A seeded source of chance: one seed gives the same draws on every machine. */
export interface Chance {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number;
  /** True with this probability. */
  hits(probability: number): boolean;
  /** One of them. @throws Error of an empty list */
  pick<T>(items: readonly T[]): T;
  /** All of them in another order. */
  shuffle<T>(items: readonly T[]): T[];
  /** One of its own, so that what one part draws never shifts what another one does. */
  fork(name: string): Chance;
}

/** Mulberry32: 32 bits of state, good enough to scatter faults. */
export function seededChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const whole = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    whole,
    hits: (probability) => next() < probability,
    pick<T>(items: readonly T[]) {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[whole(0, items.length - 1)] as T;
    },
    shuffle<T>(items: readonly T[]) {
      const mixed = [...items];
      for (let last = mixed.length - 1; last > 0; last--) {
        const other = whole(0, last);
        [mixed[last], mixed[other]] = [mixed[other] as T, mixed[last] as T];
      }
      return mixed;
    },
    fork: (name) => seededChance(hash(`${seed}:${name}`)),
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return value >>> 0;
}
