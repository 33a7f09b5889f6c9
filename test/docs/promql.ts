import { readFileSync } from 'node:fs';

/** One `name{label="value"}` of an expression. */
export interface Selector {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly values: readonly string[] }[];
}

/** Every metric that an expression names, with the values that its labels are compared to. */
export function selectorsOf(expression: string): Selector[] {
  return [...expression.matchAll(/\b((?:darkroom|temporal)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inside = '']) => ({
      name,
      matchers: [...inside.matchAll(/([a-z_]+)(?:=~?|!=|!~)"([^"]*)"/g)].map(
        ([, label = '', values = '']) => ({
          label,
          // A variable of the dashboard stands for whatever there is.
          values: values.startsWith('$') ? [] : values.split('|'),
        }),
      ),
    }),
  );
}

/** The labels by which an expression groups and joins. */
export function groupingsOf(expression: string): string[] {
  return [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, ?/));
}

const read = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');

/** One alert rule as text. */
export interface Rule {
  readonly name: string;
  readonly text: string;
  readonly expression: string;
}

export function alertRules(): Rule[] {
  return read('alerts.yml')
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => ({
      name: text.split('\n')[0]!,
      text,
      expression: /expr: (?:\|\n)?([\s\S]*?)\n {8}(?:for|labels):/.exec(text)![1]!,
    }));
}

/** A panel of the dashboard, as far as tests look at it. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly {
    readonly expr: string;
    readonly legendFormat: string;
    readonly refId: string;
  }[];
}

export interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
}

export function dashboard(): Dashboard {
  return JSON.parse(read('grafana-dashboard.json')) as Dashboard;
}
