/** Control characters, and those that change the direction of text: `exe.fdp` may look like `pdf.exe`. */
const UNSAFE = /[\p{Cc}\u2028\u2029\u200E\u200F\u061C\u202A-\u202E\u2066-\u2069\uFEFF]/gu

const MAX_LENGTH = 200

/** Returns a name without path, control characters and spaces at its ends; `'file'` if nothing is left. */
export function toFileName(given: string): string {
  const last = given.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const name = last.replace(UNSAFE, '').trim()
  if (/^\.*$/.test(name)) return 'file'
  if (name.length <= MAX_LENGTH) return name
  // The extension decides which program opens the file.
  const extension = /\.[^.]{1,16}$/.exec(name)?.[0] ?? ''
  return (name.slice(0, MAX_LENGTH - extension.length) + extension).toWellFormed()
}

/**
 * Returns the header `Content-Disposition` for any name: old clients get an ASCII form of it.
 * @see RFC 6266 §4.3, RFC 8187 §3.2
 */
export function toDisposition(kind: 'attachment' | 'inline', given: string): string {
  const name = toFileName(given)
  // Some clients decode percent signs here.
  const plain = name.replace(/[^\x20-\x7E]|["%]/g, '_')
  if (plain === name) return `${kind}; filename="${name}"`
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
