export type KillPoint =
  | 'K1'
  | 'K2'
  | 'K3'
  | 'K4'
  | 'K5'
  | 'K6'
  | 'K7'
  | 'K8'
  | 'K9'
  | 'K10'
  | 'K11'
  | 'K12'
  | 'K13'
  | 'K14'
  | 'K15'
  | 'K16';

/** Points by name: where they lie, and which process passes there. */
export const KILL_POINTS: Readonly<
  Record<KillPoint, { readonly in: 'api' | 'worker' | 'any'; readonly at: string }>
>;

/** What `node --import` takes. */
export const KILL_POINTS_URL: string;
