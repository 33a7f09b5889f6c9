import { readFileSync } from 'node:fs';
import { findNodeAtLocation, parseTree, type Node, type ParseError, printParseErrorCode } from 'jsonc-parser';
import type { z } from 'zod';
import { catalogueSchema, type Catalogue } from '../domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../domain/default-catalogue.ts';
import { findContradictions, type CatalogueProblem } from './check-catalogue.ts';

export type LoadedCatalogue = { readonly catalogue: Catalogue } | { readonly problems: readonly string[] };

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

/** A further check of a catalogue that is sound in itself, like that its providers can serve it. */
export type CatalogueCheck = (catalogue: Catalogue) => readonly CatalogueProblem[];

/** Reads CATALOGUE_FILE, or the default catalogue when there is none; problems instead of a throw. */
export function loadCatalogue(file: string | undefined, check: CatalogueCheck = () => []): LoadedCatalogue {
  if (file === undefined) return { catalogue: DEFAULT_CATALOGUE };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    return {
      problems: [`"${file}" could not be read (${code}): name a readable JSON file, or leave it unset.`],
    };
  }
  // Some editors begin a file with a byte order mark.
  return parseCatalogue(text.replace(/^\ufeff/, ''), file, check);
}

/** A catalogue from its text; each problem names file, line and field: `models.json:14 models[0].price.per: …`. */
export function parseCatalogue(
  text: string,
  file: string,
  check: CatalogueCheck = () => [],
): LoadedCatalogue {
  if (text.trim() === '') return { problems: [`${file}:1 is empty`] };
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, STRICT);
  const [broken] = errors;
  if (broken !== undefined || tree === undefined) {
    const why = broken === undefined ? 'unreadable' : inWords(printParseErrorCode(broken.error));
    return { problems: [`${file}:${lineOf(text, broken?.offset ?? 0)} is not valid JSON (${why})`] };
  }
  const twice = findRepeatedKeys(tree);
  const parsed = catalogueSchema.safeParse(JSON.parse(text));
  const found: CatalogueProblem[] = parsed.success
    ? findContradictions(parsed.data)
    : parsed.error.issues.flatMap(problemsOf);
  const inside = [...twice, ...found];
  const all = parsed.success && inside.length === 0 ? check(parsed.data) : inside;
  const problems = all.map((problem) => describe(problem, text, tree, file));
  return parsed.success && problems.length === 0 ? { catalogue: parsed.data } : { problems };
}

/** CloseBraceExpected: close brace expected. */
function inWords(code: string): string {
  return code.replace(/[A-Z]/g, (letter, at) => `${at === 0 ? '' : ' '}${letter.toLowerCase()}`);
}

/** One problem a field; where alternatives failed, those of the one that fits best. */
function problemsOf(issue: z.core.$ZodIssue): CatalogueProblem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key], problem: 'there is no such field' }));
  if (issue.code === 'invalid_union') {
    const [best = []] = issue.errors.toSorted((a, b) => a.length - b.length);
    const inside = best.flatMap(problemsOf).filter((problem) => problem.path.length > 0);
    if (inside.length > 0) return inside.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
  }
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [{ path, problem: missing ? 'is missing' : issue.message }];
}

function describe({ path, problem }: CatalogueProblem, text: string, tree: Node, file: string): string {
  return `${file}:${lineOf(text, offsetOf(tree, path))} ${fieldPath(path)}: ${problem}`;
}

/** Where the field stands, or the nearest thing around it that is there. */
function offsetOf(tree: Node, path: CatalogueProblem['path']): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node !== undefined) return (node.parent?.type === 'property' ? node.parent : node).offset;
  }
  return tree.offset;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** JSON.parse keeps the last of two equal keys in silence. */
function findRepeatedKeys(node: Node, path: (string | number)[] = []): CatalogueProblem[] {
  const children = node.children ?? [];
  if (node.type === 'array')
    return children.flatMap((child, index) => findRepeatedKeys(child, [...path, index]));
  if (node.type !== 'object') return [];
  const seen = new Set<string>();
  return children.flatMap(({ children: pair = [] }) => {
    const [key, value] = pair;
    const name = String(key?.value);
    const at = [...path, name];
    const found = seen.has(name) ? [{ path: at, problem: 'is there twice' }] : [];
    seen.add(name);
    return value === undefined ? found : [...found, ...findRepeatedKeys(value, at)];
  });
}

function fieldPath(path: CatalogueProblem['path']): string {
  if (path.length === 0) return '(whole file)';
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${part}`))
    .join('');
}
