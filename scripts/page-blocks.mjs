// What scripts do with the fenced blocks of a page that shows edits.
import assert from 'node:assert/strict'

/** Returns where whole lines begin in a text. Throws unless they are there once. */
export function findOnce(source, lines, place) {
  const text = `\n${source}`
  const start = text.indexOf(`\n${lines}`)
  if (lines !== '' && start >= 0 && start === text.lastIndexOf(`\n${lines}`)) return start
  throw new Error(`${place} has these lines ${start < 0 ? 'nowhere' : 'twice'}:\n${lines}`)
}

/**
 * Returns a text with the edits of a diff: `-` is replaced by `+`, beside lines that stay. What an empty line
 * separates is found and replaced one after the other.
 */
export function applyDiff(source, diff, place) {
  return diff.split('\n\n').reduce((text, part) => {
    const lines = part.split('\n').filter((line) => line !== '')
    const wrong = lines.find(([sign]) => !' +-'.includes(sign))
    if (wrong !== undefined) throw new Error(`${place}: neither ' ' nor + nor - before ${wrong}`)
    const toSide = (own) =>
      lines.flatMap(([sign, ...line]) => (sign === ' ' || sign === own ? `${line.join('')}\n` : []))
    const from = toSide('-').join('')
    const start = findOnce(text, from, place)
    return text.slice(0, start) + toSide('+').join('') + text.slice(start + from.length)
  }, source)
}

/** Returns a pattern for a text, in which `…` stands for anything, and ids and dates for any of their kind. */
const toPattern = (text) =>
  text
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('…', '.*')
    .replace(/[0-9a-f]{24}/g, '[0-9a-f]{24}')
    // Midnights are written by hand.
    .replace(/\d{4}-\d\d-\d\dT(?!00:00:00\\\.000)[\d:]{8}\\\.\d{3}Z/g, '[-\\d]{10}T[:.\\d]{12}Z')

/** Whether a value of JSON is what the page shows. */
function isLike(shown, value) {
  if (shown === '…') return value !== undefined
  if (typeof shown !== typeof value) return false
  if (typeof shown === 'string') return new RegExp(`^${toPattern(shown)}$`).test(value)
  if (shown === null || typeof shown !== 'object') return shown === value
  if (value === null || Array.isArray(shown) !== Array.isArray(value)) return false
  const names = new Set([...Object.keys(shown), ...Object.keys(value)])
  return [...names].every((name) => name in shown && isLike(shown[name], value[name]))
}

/** Throws unless an output has the lines of a block in their order, or is the JSON of the block. */
export function compareOutput({ kind, text, place }, output) {
  if (kind === 'json')
    return assert.ok(isLike(JSON.parse(text), JSON.parse(output)), `${place}: ${output}`)
  const pattern = text.trim().split('\n').map(toPattern).join('[\\s\\S]*?')
  assert.match(output.replaceAll('\r', ''), new RegExp(`^${pattern}$`, 'm'), place)
}
