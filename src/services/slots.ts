/** Bounds how much of one kind of work is under way in this process at once. */
export interface Slots {
  /** A place for this owner, to be given back once; null when all, or all of this owner, are taken. */
  take(owner: string): (() => void) | null;
}

/** @param perOwner so that one tenant can't take every place from the others. */
export function createSlots({
  total,
  perOwner,
}: {
  readonly total: number;
  readonly perOwner: number;
}): Slots {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take(owner) {
      const own = taken.get(owner) ?? 0;
      if (all >= total || own >= perOwner) return null;
      all += 1;
      taken.set(owner, own + 1);
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        all -= 1;
        const left = (taken.get(owner) ?? 1) - 1;
        if (left > 0) taken.set(owner, left);
        else taken.delete(owner);
      };
    },
  };
}

/** How many inputs are received at once in this process: uploads, and fetches from URLs. */
export interface InputSlots {
  readonly uploads: Slots;
  readonly fetches: Slots;
}

export function createInputSlots(): InputSlots {
  return {
    uploads: createSlots({ total: 16, perOwner: 8 }),
    fetches: createSlots({ total: 32, perOwner: 16 }),
  };
}
