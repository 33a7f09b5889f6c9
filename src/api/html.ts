/** Markup that is safe to put into a page. */
export interface Html {
  readonly raw: string;
}

export const NOTHING: Html = { raw: '' };

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Template tag: texts are escaped, `Html` parts stand as they are. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  const raw = parts
    .map((part, index) => {
      const value = values[index];
      if (value === undefined) return part;
      return `${part}${typeof value === 'string' ? escapeHtml(value) : value.raw}`;
    })
    .join('');
  return { raw };
}

export function joined(parts: readonly Html[], between: Html = { raw: '\n' }): Html {
  return { raw: parts.map((part) => part.raw).join(between.raw) };
}

export function code(text: string): Html {
  return html`<code>${text}</code>`;
}

/** A text with `words in backticks` as code; `hrefOf` may name where such a word leads. */
export function prose(text: string, hrefOf: (word: string) => string | undefined = () => undefined): Html {
  const parts = text.split(/`([^`]+)`/).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    const href = hrefOf(part);
    return href === undefined ? code(part) : html`<a href="${href}">${code(part)}</a>`;
  });
  return joined(parts, NOTHING);
}

/** A box that scrolls sideways by itself, also by keyboard, so that the page never has to. */
export function scrolling(label: string, content: Html): Html {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">${content}</div>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);
}
