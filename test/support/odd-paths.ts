/** Returns numbers from 0 to 1, the same ones for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number
type Change = (path: string, random: Random) => string

const encode = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/** Changes one character, of those that a test takes, to something else. */
function changeOne(test: RegExp, toOther: (character: string, random: Random) => string): Change {
  return (path, random) => {
    const places = [...path].flatMap((character, index) => (test.test(character) ? [index] : []))
    const place = places[Math.floor(random() * places.length)]
    if (place === undefined) return path
    const other = toOther(path[place] as string, random)
    return path.slice(0, place) + other + path.slice(place + 1)
  }
}

function insert(...texts: readonly string[]): Change {
  return (path, random) => {
    const place = 1 + Math.floor(random() * path.length)
    return path.slice(0, place) + pick(texts, random) + path.slice(place)
  }
}

/** Ways to spell a path otherwise, as proxies, clients and attackers do. */
const CHANGES: readonly Change[] = [
  changeOne(/\//, () => '//'),
  changeOne(/\//, () => '/./'),
  changeOne(/\//, () => '/x/../'),
  changeOne(/\//, (_, random) => (random() < 0.5 ? '%2F' : '%2f')),
  changeOne(/\//, () => '\\'),
  changeOne(/\w/, encode),
  changeOne(/\w/, (character) => encode(character).toUpperCase()),
  changeOne(/\w/, (character) => encode(character).replace('%', '%25')),
  changeOne(/%/, () => '%25'),
  changeOne(/[a-z]/, (character) => character.toUpperCase()),
  changeOne(/\w/, () => ''),
  insert(';', ';x=1', ';/', '?', '?x=/admin', '#', '#/', '&', '.', '..', ':', '@', '+', '~'),
  insert('%00', '%20', '%2e', '%252e', '%3b', '%3f', '%C3%A4', '%E2%98%83', '%5c', '%0d%0a'),
  insert('/', '/', '//', '/1', '/admin', '/late'),
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => `http://a${path}`,
  (path) => `HTTPS://a.test:80/${path}`,
  (path) => `*${path.slice(1)}`,
  (path) => `http://a?${path}`,
]

/** Returns spellings of paths, most of them odd and some of them the paths themselves. */
export function createSpellings(paths: readonly string[], count: number, random: Random): string[] {
  return Array.from({ length: count }, () => {
    let path = pick(paths, random)
    for (let changes = Math.floor(random() * 4); changes > 0; changes -= 1) {
      path = pick(CHANGES, random)(path, random)
    }
    // Anything else is no request to Node, and ends the connection.
    return /^(?:[/*]|https?:\/\/[\w.:]+(?:[/?]|$))/i.test(path) ? path : `/${path}`
  })
}

function pick<T>(values: readonly T[], random: Random): T {
  return values[Math.floor(random() * values.length)] as T
}
