import { readFileSync } from 'node:fs'
import t from 'tap'
import { readSources } from './support/source-imports.ts'

/** Returns the folders that docs/source-map.md names. */
function readRooms(): string[] {
  const text = readFileSync(new URL('../../docs/source-map.md', import.meta.url), 'utf8')
  const [, map = ''] = /^\| folder .*\n((?:\|.*\n)+)/m.exec(text) ?? []
  const rows = [...map.matchAll(/^\| (`[^|]+) \|/gm)]
  return rows.flatMap(([, names = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, one]) => `${one}`),
  )
}

t.test('the map of the sources names each folder of src that has files, once', (t) => {
  const files = Object.keys(readSources('src'))
  const folders = new Set(files.map((file) => file.slice(0, file.lastIndexOf('/'))))
  t.strictSame(readRooms().toSorted(), [...folders].toSorted())
  t.end()
})
