/** How much of a file is looked at, in bytes. */
export const HEAD_BYTES = 1_024

export const UNKNOWN_TYPE = 'application/octet-stream'

/** Types by the first bytes, as a pattern of their Latin-1 form. @see https://mimesniff.spec.whatwg.org */
const SIGNATURES: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xFF\xD8\xFF/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  ['image/avif', /^[\s\S]{4}ftypavi[fs]/],
  ['video/mp4', /^[\s\S]{4}ftyp(?:mp4|iso|avc|M4V|dash)/],
  ['video/webm', /^[\s\S]E\xDF\xA3[\s\S]{0,64}webm/],
  ['audio/mpeg', /^ID3/],
  ['audio/wav', /^RIFF[\s\S]{4}WAVE/],
  ['application/pdf', /^%PDF-/],
]

/** Text that a browser could run or render: tags, also behind a byte order mark, spaces and comments. */
const MARKUP = /^(?:\xEF\xBB\xBF|\xFE\xFF|\xFF\xFE)?[\s\0]*</
const SVG = /<(?:\0?s\0?v\0?g|[^\s<>]{1,64}:svg)[\s\0/>]/i

/** Types whose content is always recognised: a file that only claims one is not of it. */
const RECOGNISED: ReadonlySet<string> = new Set(
  SIGNATURES.map(([type]) => type).filter((type) => !/^(?:audio|video)\//.test(type)),
)

/** Types that browsers run, or take as code of the page, when they come from the same site. */
const ACTIVE =
  /^(?:text\/(?:html|css|vbscript)|image\/svg)|(?:java|ecma|j|live)script|[/+]xml$|xhtml|wasm|flash/

/** Types that browsers display without running anything in them, if the content is of the type. */
export const INLINE_TYPES: readonly string[] = [...SIGNATURES.map(([type]) => type), 'text/plain']

/**
 * Returns the media type of a file by its first bytes. If they are not recognised, it is the declared one, without its
 * parameters, unless the bytes contradict it.
 */
export function toMediaType(head: Uint8Array, declared = ''): string {
  const text = String.fromCharCode(...head.subarray(0, HEAD_BYTES))
  const found = SIGNATURES.find(([, pattern]) => pattern.test(text))
  if (found !== undefined) return found[0]
  if (MARKUP.test(text)) return SVG.test(text) ? 'image/svg+xml' : 'text/html'
  const type = readMediaType(declared)
  return type === null || RECOGNISED.has(type) ? UNKNOWN_TYPE : type
}

/** Returns a declared media type in lower case and without its parameters, `null` if it is none. */
export function readMediaType(declared: string): string | null {
  const type = declared.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return /^[\w.+-]{1,64}\/[\w.+-]{1,128}$/.test(type) ? type : null
}

/** Whether browsers may run a file of this type. */
export function isActiveType(type: string): boolean {
  return ACTIVE.test(type)
}

/** Whether a list such as `['image/*', 'application/pdf']` includes a type. */
export function includesType(types: readonly string[], type: string): boolean {
  const group = `${type.split('/', 1)[0]}/*`
  return types.some((one) => one === type || one === group || one === '*/*')
}
