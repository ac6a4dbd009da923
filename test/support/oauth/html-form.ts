/** A form that is filled in: where it goes, and what it carries. */
export interface FilledForm {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly fields: URLSearchParams
}

type Attributes = Readonly<Record<string, string>>

/** A part of a form that has a name. */
interface Control {
  readonly name: string
  readonly value: string
  /** Sent although nobody touches it: not so a button or an empty checkbox. */
  readonly active: boolean
}

/** What only goes with a form when it is pressed or ticked. */
const TOUCHED = new Set(['submit', 'image', 'button', 'reset'])
const TICKED = new Set(['checkbox', 'radio'])

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

/**
 * Fills in the first form of a page.
 *
 * @throws {Error} there is no form, it has no such field, or it is no form of names and values
 */
export function fillForm(
  html: string,
  pageUrl: URL,
  given: Readonly<Record<string, string>>,
): FilledForm {
  const found = /<form\b([^>]*)>([\s\S]*?)<\/form>/i.exec(html)
  if (found === null) throw new Error(`There is no form on ${pageUrl.origin}${pageUrl.pathname}`)
  const [, tag = '', content = ''] = found
  const form = readAttributes(tag)
  if (form['enctype'] !== undefined && form['enctype'] !== 'application/x-www-form-urlencoded') {
    throw new Error(`A form of type ${form['enctype']} is not filled in here`)
  }
  const url = new URL(form['action'] || pageUrl.href, pageUrl)
  url.hash = ''
  const method = form['method']?.toUpperCase() === 'POST' ? 'POST' : 'GET'
  return { url, method, fields: fill(readControls(content), given) }
}

function fill(controls: readonly Control[], given: Readonly<Record<string, string>>) {
  const fields = new URLSearchParams()
  const left = new Set(Object.keys(given))
  for (const { name, value, active } of controls) {
    const wanted = given[name]
    // Of several buttons or boxes of one name, the one of the value that is wanted.
    if (!active && wanted !== value) continue
    fields.append(name, wanted ?? value)
    left.delete(name)
  }
  if (left.size > 0) throw new Error(`The form has no field for: ${[...left].join(', ')}`)
  return fields
}

function readControls(content: string): Control[] {
  const controls: Control[] = []
  for (const [, kind = '', tag = ''] of content.matchAll(/<(input|button)\b([^>]*)>/gi)) {
    const attributes = readAttributes(tag)
    const { name, type = kind.toLowerCase() === 'button' ? 'submit' : 'text' } = attributes
    if (name === undefined || 'disabled' in attributes) continue
    const isTicked = TICKED.has(type)
    const value = attributes['value'] ?? (isTicked ? 'on' : '')
    const active = isTicked ? 'checked' in attributes : !TOUCHED.has(type)
    controls.push({ name, value, active })
  }
  return controls
}

function readAttributes(tag: string): Attributes {
  const attributes: Record<string, string> = {}
  const pattern = /([^\s"'=<>/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
  for (const [, name = '', double, single, bare] of tag.matchAll(pattern)) {
    attributes[name.toLowerCase()] = decode(double ?? single ?? bare ?? '')
  }
  return attributes
}

function decode(text: string): string {
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? entity
    return String.fromCodePoint(Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16))
  })
}
