import { dirname, join, relative, resolve } from 'node:path/posix';

/** How the callbacks of a provider are vouched for. */
export const CALLBACK_KINDS = ['signed', 'unsigned', 'none'] as const;
export type CallbackKind = (typeof CALLBACK_KINDS)[number];

/** Where the template lies in a checkout: a provider of its own, typed, linted and tested like all others. */
export const TEMPLATE_FOLDER = 'test/providers/template';

/** Each file of the template, and what it becomes; `kinds` where not all providers have it. */
const PARTS: readonly {
  readonly file: string;
  readonly target: (name: string) => string;
  readonly kinds?: readonly CallbackKind[];
}[] = [
  { file: 'adapter.ts', target: (name) => `src/providers/${name}.ts` },
  { file: 'answers.ts', target: (name) => `src/providers/${name}-answers.ts` },
  { file: 'body.ts', target: (name) => `src/providers/${name}-body.ts` },
  { file: 'callback-signed.ts', target: (name) => `src/providers/${name}-callback.ts`, kinds: ['signed'] },
  {
    file: 'callback-unsigned.ts',
    target: (name) => `src/providers/${name}-callback.ts`,
    kinds: ['unsigned'],
  },
  { file: 'observation.ts', target: (name) => `src/providers/${name}-observation.ts` },
  { file: 'schemas.ts', target: (name) => `src/providers/${name}-schemas.ts` },
  { file: 'simulator.ts', target: (name) => `src/simulators/${name}.ts` },
  { file: 'rows.ts', target: (name) => `test/providers/${name}-rows.ts` },
  { file: 'adapter.test.ts', target: (name) => `test/providers/${name}.test.ts` },
];

/** The files of the template, as paths in the checkout. */
export const TEMPLATE_FILES = PARTS.map(({ file }) => `${TEMPLATE_FOLDER}/${file}`);

/** Words that no variable of a module can have for a name (ECMAScript 2024, 12.7.2, and what strict mode adds). */
const RESERVED: ReadonlySet<string> = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends ' +
    'false finally for function if implements import in instanceof interface let new null package private protected ' +
    'public return static super switch this throw true try typeof undefined var void while with yield'
  ).split(' '),
);

const MARK = /(?:\/\/| \*) \[change\] (.*)$/;
const REGION = /^\s*\/\/ <(\/?)([a-z, ]+)>$/;
const ONLY_FOR = /^(\s*)\/\/ \[([a-z, ]+)\] (.*)$/;
const LINE_FOR = /^(.*\S) \/\/ \[([a-z, ]+)\]$/;

/** One place that a new provider has to look at. */
export interface Place {
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

/** One file of a new provider. */
export interface NewFile {
  readonly path: string;
  readonly text: string;
}

const covers = (kinds: string, kind: CallbackKind) => kinds.split(', ').includes(kind);

/**
 * The lines for one kind of callbacks. The template is written for signed ones: a comment `// [none] code` is code for
 * that kind, `code // [signed]` stands for that one only, and so does all between `// <signed>` and `// </signed>`.
 */
function linesFor(text: string, kind: CallbackKind): string {
  let outside = true;
  const lines = text.split('\n').flatMap((line) => {
    const [, closing, region = ''] = REGION.exec(line) ?? [];
    if (closing !== undefined) {
      outside = closing === '/' || covers(region, kind);
      return [];
    }
    if (!outside) return [];
    const [, indent, only, code] = ONLY_FOR.exec(line) ?? [];
    if (indent !== undefined && only !== undefined && only !== 'change') {
      return covers(only, kind) ? [`${indent}${code}`] : [];
    }
    const [, kept, kinds] = LINE_FOR.exec(line) ?? [];
    if (kept === undefined || kinds === undefined) return [line];
    return covers(kinds, kind) ? [kept] : [];
  });
  return lines.join('\n').replace(/\n{3,}/g, '\n\n');
}

/** Imports as the moved file has to write them: those of other parts of the template lead to what these became. */
function movedImports(text: string, from: string, to: string, targets: ReadonlyMap<string, string>): string {
  return text.replace(/ from '(\.[^']+)'/g, (_all, written: string) => {
    const found = relative('/', resolve('/', dirname(from), written));
    const path = relative(dirname(to), targets.get(found) ?? found);
    return ` from '${path.startsWith('.') ? path : `./${path}`}'`;
  });
}

/** A provider of this name from the texts of the template, by their paths in the checkout. */
export function renderProvider(
  template: ReadonlyMap<string, string>,
  name: string,
  kind: CallbackKind,
): readonly NewFile[] {
  const targets = new Map(PARTS.map(({ file, target }) => [join(TEMPLATE_FOLDER, file), target(name)]));
  return PARTS.filter(({ kinds }) => kinds === undefined || kinds.includes(kind)).map(({ file, target }) => {
    const from = join(TEMPLATE_FOLDER, file);
    const moved = movedImports(linesFor(template.get(from) ?? '', kind), from, target(name), targets);
    const text = moved
      .replaceAll('tidewater', name)
      .replaceAll('Tidewater', `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`)
      .replaceAll('TIDEWATER', name.toUpperCase());
    return { path: target(name), text };
  });
}

/** The places in a file that are marked to be changed. */
export function placesIn({ path, text }: NewFile): readonly Place[] {
  return text.split('\n').flatMap((line, index) => {
    const [, what] = MARK.exec(line) ?? [];
    return what === undefined ? [] : [{ path, line: index + 1, what }];
  });
}

/** Names that the new files import: a provider's own name stands beside them. */
function importedNames(template: ReadonlyMap<string, string>): readonly string[] {
  return [...template.values()].flatMap((text) =>
    [...text.matchAll(/^import [^{]*\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
      names.split(',').map((entry) => entry.trim().replace(/^type /, '')),
    ),
  );
}

/** Why a provider can't have this name; null when it can. */
export function nameProblem(
  name: string,
  template: ReadonlyMap<string, string>,
  existing: readonly string[],
): string | null {
  if (!/^[a-z][a-z0-9]{1,31}$/.test(name)) {
    return 'Write 2 to 32 lower-case letters and digits, beginning with a letter: the name becomes part of variables like PROVIDER_TIDEWATER_API_KEY.';
  }
  if (existing.includes(name))
    return `There is a provider "${name}": choose another name, or change that one.`;
  if (RESERVED.has(name) || importedNames(template).includes(name)) {
    return `"${name}" is a word of the language or of the new files' own code: choose another name.`;
  }
  return null;
}

/**
 * The text of a list file (src/providers/index.ts) with one more import and entry; null when it is written in a way that
 * this does not know.
 * @param entry what is imported from `./<name>.ts` and stands in the list
 */
export function withEntry(text: string, list: string, name: string, entry: string): string | null {
  const line = `import { ${entry} } from './${name}.ts';`;
  const lines = text.split('\n');
  const own = lines.flatMap((found, index) => {
    const [, path] = / from '(\.[^']+)';$/.exec(found) ?? [];
    return path === undefined ? [] : [{ path, index }];
  });
  const last = own.at(-1);
  const array = new RegExp(`(export const ${list}\\b[^=]*= \\[)([^\\]]*)(\\];)`);
  if (last === undefined || !array.test(text)) return null;
  const after = own.find(({ path }) => path.startsWith('./') && path > `./${name}.ts`);
  lines.splice(after?.index ?? last.index + 1, 0, line);
  return lines.join('\n').replace(array, (_all, open: string, entries: string, close: string) => {
    const before = entries.trim().replace(/,$/, '');
    return `${open}\n  ${before === '' ? '' : `${before},\n  `}${entry},\n${close}`;
  });
}
