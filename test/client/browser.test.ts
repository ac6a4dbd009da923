import { readFileSync } from 'node:fs'
import t from 'tap'

/** Returns every package and module of Node that a built file imports, and those that it imports. */
function readPackages(file: URL, seen: Set<string>): string[] {
  if (seen.has(file.href)) return []
  seen.add(file.href)
  const imports = [
    ...readFileSync(file, 'utf8').matchAll(/\b(?:from|import) ?\(?["']([^"']+)["']/g),
  ]
  return imports.flatMap(([, specifier = '']) =>
    specifier.startsWith('.') ? readPackages(new URL(specifier, file), seen) : [specifier],
  )
}

t.test('the built client needs nothing of Node, and no package but ofetch', async (t) => {
  const seen = new Set<string>()
  const entry = new URL('../../../dist/client/index.js', import.meta.url)
  t.strictSame(readPackages(entry, seen), ['ofetch'])
  t.ok(seen.size > 1, 'what it shares with other entries was read')
})
