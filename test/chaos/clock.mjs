// Preloaded into a process under test: its JavaScript clock is off by the milliseconds in CLOCK_FILE, which may change
// while it runs, so that its clock jumps. Timers and performance.now() go on as they are, as on a machine whose clock is set.
import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 200;
const file = process.env['CLOCK_FILE'];
const RealDate = Date;
const realNow = Date.now.bind(Date);
let offsetMs = 0;

function look() {
  const value = Number(readFileSync(file, 'utf8'));
  if (Number.isFinite(value)) offsetMs = value;
}

class ShiftedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(realNow() + offsetMs);
    else super(...args);
  }

  static now() {
    return realNow() + offsetMs;
  }
}

look();
setInterval(look, LOOK_EVERY_MS).unref();
globalThis.Date = ShiftedDate;
