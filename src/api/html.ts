/** Markup that is safe to put into a page. */
export interface Html {
  readonly raw: string;
}

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

export function joined(parts: readonly Html[]): Html {
  return { raw: parts.map((part) => part.raw).join('\n') };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);
}
