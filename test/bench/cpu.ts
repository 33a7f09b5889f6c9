import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second whatever the kernel is built with. */
const TICK_MS = 10;

interface Stat {
  readonly comm: string;
  readonly ppid: number;
  /** Of itself, and of its children that have ended. */
  readonly ownMs: number;
  readonly childrenMs: number;
}

function statOf(path: string): Stat | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    const end = text.lastIndexOf(')');
    const fields = text
      .slice(end + 2)
      .split(' ')
      .map(Number);
    const at = (index: number) => fields[index] ?? 0;
    return {
      comm: text.slice(text.indexOf('(') + 1, end),
      ppid: at(1),
      ownMs: (at(11) + at(12)) * TICK_MS,
      childrenMs: (at(13) + at(14)) * TICK_MS,
    };
  } catch {
    return undefined;
  }
}

/** CPU milliseconds of a process so far; `withChildren` for one that works in children, as PostgreSQL does. */
function processMs(pid: number, withChildren: boolean): number {
  const own = statOf(`/proc/${pid}/stat`);
  if (own === undefined) return 0;
  if (!withChildren) return own.ownMs;
  const living = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(`/proc/${name}/stat`))
    .filter((stat) => stat?.ppid === pid);
  return own.ownMs + own.childrenMs + living.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), 0);
}

export type Cpu = Readonly<Record<string, number>>;

/** CPU milliseconds so far by the process's name; PostgreSQL with its sessions. Linux only, else zeros. */
export function readCpu(pids: Readonly<Record<string, number>>): Cpu {
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [name, processMs(pid, name === 'postgres')]),
  );
}

/** What each has used in between, divided by `by`. */
export function cpuBetween(before: Cpu, after: Cpu, by: number): Cpu {
  return Object.fromEntries(
    Object.entries(after).map(([name, ms]) => [
      name,
      Math.round(((ms - (before[name] ?? 0)) / by) * 100) / 100,
    ]),
  );
}

/** CPU milliseconds so far by the name of the thread: Temporal's core works in threads of its own. */
export function readThreads(pid: number): Cpu {
  const sums: Record<string, number> = {};
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const stat = statOf(`/proc/${pid}/task/${task}/stat`);
      if (stat === undefined) continue;
      const name = task === String(pid) ? 'main' : stat.comm.replace(/[-\d]+$/, '');
      sums[name] = (sums[name] ?? 0) + stat.ownMs;
    }
  } catch {
    // Not Linux, or it has ended.
  }
  return sums;
}

/** Resident memory in MiB; 0 where it can't be read. */
export function residentMib(pid: number): number {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kib ?? 0) / 102.4) / 10;
  } catch {
    return 0;
  }
}
