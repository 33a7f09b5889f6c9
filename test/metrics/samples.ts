import { send } from '../api/client.ts';

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
