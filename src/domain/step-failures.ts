/** The failure type of a step that cannot be repaired by trying again: the run goes to an operator. */
export const STEP_BROKEN = 'StepBroken';
