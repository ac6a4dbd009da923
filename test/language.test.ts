import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

/** Phrases that read as translated, with what to write instead. */
const PHRASES: Readonly<Record<string, readonly [phrase: RegExp, instead: string]>> = {
  'is answered with': [/\banswered (?:with|by)\b/g, 'returns'],
  'is refused': [/\b(?:is|are|was|were|be|been) refused\b/gi, 'is rejected, throws, returns 400'],
  'is told': [
    /\b(?:is|are|was|were) told\b(?! (?:to|otherwise)\b)|\btold (?:of|about|that)\b/g,
    'is notified, is sent',
  ],
  nobody: [/\bnobody\b/gi, 'no one, or name what does not happen'],
  whoever: [/\bwhoever\b/gi, 'name who does it'],
  'can not': [/\bcan not\b/gi, 'cannot'],
  'of its own': [/\bof (?:its|their|your|one's) own\b/g, 'its own, a custom …'],
  'of which': [/(?<!\bone )\bof which\b/g, 'two sentences'],
  beside: [/\b[Bb]esides?\b/g, 'next to, together with, also'],
  mails: [/(?<![.#`'"\w])mails\b/gi, 'emails'],
  heed: [/\bheed(?:s|ed|ing)?\b/gi, 'honour'],
  'caller outside': [/\bcallers? outside\b|\bfrom outside\b/gi, 'external caller'],
  'good once': [/\bgood once\b/gi, 'single-use'],
}

/** How often a phrase still stands in the texts. The numbers may only fall. */
const LEFT: Readonly<Record<string, number>> = {
  // Error messages of Feathers.
  'can not': 6,
}

const root = new URL('../../', import.meta.url)

function readTexts(folder: string, ending: string): string[] {
  const names = readdirSync(new URL(folder, root), { recursive: true }).map(String)
  const paths = names.filter((name) => name.endsWith(ending)).map((name) => `${folder}/${name}`)
  return paths.filter((path) => !path.includes('node_modules'))
}

const paths = [
  'README.md',
  ...readTexts('docs', '.md'),
  ...readTexts('src', '.ts'),
  ...readTexts('examples', '.ts'),
  ...['.ts', '.md'].flatMap((ending) => readTexts('templates', ending)),
]
const texts = paths.map((path) => [path, readFileSync(new URL(path, root), 'utf8')] as const)

t.test('texts are written in the words of the field', async (t) => {
  t.ok(paths.length > 500)
  for (const [name, [phrase, instead]] of Object.entries(PHRASES)) {
    const places = texts.flatMap(([path, text]) =>
      [...text.matchAll(phrase)].map(
        ({ index }) => `${path}:${text.slice(0, index).split('\n').length}`,
      ),
    )
    const most = LEFT[name] ?? 0
    t.ok(places.length <= most, `'${name}': write ${instead}`, { places })
  }
})
