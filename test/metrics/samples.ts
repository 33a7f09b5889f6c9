import { send } from '../api/client.ts';
import { eventually } from '../simulators/control.ts';

/** One line of Prometheus' text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the text format as it is defined; a line of any other form is an Error. */
export function parseSamples(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('the text does not end with a line feed');
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('# '))
    .map((line) => {
      const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (match === null) throw new Error(`no sample: ${line}`);
      const [, name = '', labels = '', value] = match;
      const pairs = labels === '' ? [] : labels.split(/,(?=[a-z_]+=")/);
      return {
        name,
        labels: Object.fromEntries(
          pairs.map((pair) => {
            const [, key = '', text = ''] = /^([a-z_]+)="([^"\\]*)"$/.exec(pair)!;
            return [key, text];
          }),
        ),
        value: Number(value),
      };
    });
}

/** One of each read of the database that API and worker make for a page. */
const OF_READS = ['darkroom_jobs_waiting', 'darkroom_paused', 'darkroom_generations'];

/** What a process shows now. */
export class Scrape {
  readonly samples: readonly Sample[];

  constructor(text: string) {
    this.samples = parseSamples(text);
  }

  static async of(url: string): Promise<Scrape> {
    const { status, text } = await send(url, { path: '/metrics' });
    if (status !== 200) throw new Error(`${status} ${text}`);
    return new Scrape(text);
  }

  /** The first page that nothing is missing on: what could not be read in time is left out of one. */
  static whole(url: string): Promise<Scrape> {
    return eventually(async () => {
      const scrape = await Scrape.of(url);
      const shown = new Set(scrape.samples.map(({ name }) => name));
      const isRead = OF_READS.every((name) => shown.has(name));
      return isRead && scrape.value('darkroom_sdk_metrics_up') !== 0 ? scrape : undefined;
    }, 60_000);
  }

  /**
   * What fresh gauges show of the database now; a read that took longer than a scrape may wait is made again.
   * @param isRead whether this page has it; any sample by default
   */
  static fresh(
    create: () => { refresh(): Promise<unknown>; readonly registry: { metrics(): Promise<string> } },
    isRead: (scrape: Scrape) => boolean = ({ samples }) => samples.length > 0,
  ): Promise<Scrape> {
    return eventually(async () => {
      const gauges = create();
      await gauges.refresh();
      const scrape = new Scrape(await gauges.registry.metrics());
      return isRead(scrape) ? scrape : undefined;
    }, 60_000);
  }

  /** The value of the only series with these labels; undefined when there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const fits = this.samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
    );
    if (fits.length > 1) throw new Error(`${name} has ${fits.length} such series`);
    return fits[0]?.value;
  }
}
